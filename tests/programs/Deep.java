/** Very deep recursion, and recursion without end that is caught. */
public class Deep {
    static int sink;

    static int down(int n) {
        return n == 0 ? 0 : 1 + down(n - 1);
    }

    static int forever(int n) {
        return forever(n + 1) + 1;
    }

    static void step(int i) {
        sink += i;
    }

    static void steps(int n) {
        for (int i = 0; i < n; i++) {
            step(i);
        }
    }

    static void overflow() {
        try {
            forever(0);
        } catch (StackOverflowError expected) {
            sink = -1;
        }
        steps(10);
    }

    static void run(int depth, int overflows) {
        System.out.println(down(depth));
        for (int i = 0; i < overflows; i++) {
            overflow();
        }
        steps(1000);
    }

    public static void main(String[] args) throws Exception {
        int depth = Integer.parseInt(args[0]), overflows = Integer.parseInt(args[1]);
        long stack = Long.parseLong(args[2]) << 20;
        Thread thread = new Thread(null, () -> run(depth, overflows), "deep", stack);
        thread.start();
        thread.join();
    }
}
