/**
 * A method that HotSpot compiles just so: the compiler of Java copies what stands in {@code finally}, so it has nearly 8,000 bytes. With
 * calls counted in it, it has more. It works until somebody closes its input.
 */
public class Huge {
    static int sink;

    static void step(int n) {
        sink += n;
    }

    static void huge(int n) {
        for (int i = 0; i < n; i++) {
            try {
                step(1);
            } finally {
                try {
                    step(2);
                } finally {
                    try {
                        step(3);
                    } finally {
                        try {
                            step(4);
                        } finally {
                            try {
                                step(5);
                            } finally {
                                try {
                                    step(6);
                                } finally {
                                    try {
                                        step(7);
                                    } finally {
                                        step(8);
                                        step(9);
                                        step(10);
                                        step(11);
                                        step(12);
                                        step(13);
                                        step(14);
                                        step(15);
                                        step(16);
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    public static void main(String[] args) throws Exception {
        System.out.println("working");
        while (System.in.available() == 0) {
            huge(100);
        }
        System.out.println("done");
    }
}
