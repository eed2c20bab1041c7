//: name = "micro-exceptions"
//: about = "exceptions through frames, with and without stack traces"
//: package = "bench"
//: warmup = 16
//: steady = 10
//: jvm = ["-Xms256m", "-Xmx256m"]
package bench;

public final class Exceptions {
    static final class Light extends RuntimeException {
        final int value;

        Light(int value) {
            super(null, null, false, false);
            this.value = value;
        }
    }

    public static void main(String[] args) throws Exception {
        Bench.run(() -> {
            long sum = 0;
            for (int i = 0; i < 100_000; i++) {
                sum = Bench.mix(sum, light(i) + heavy(i));
            }
            return sum;
        });
    }

    static int light(int i) {
        try {
            return descend(i, 4);
        } catch (Light e) {
            return e.value;
        }
    }

    static int descend(int i, int depth) {
        if (depth == 0) {
            if (i % 4 != 0) {
                throw new Light(i);
            }
            return i * 3;
        }
        try {
            return descend(i, depth - 1) + 1;
        } finally {
            touched++;
        }
    }

    static int heavy(int i) {
        try {
            return Integer.parseInt(i % 8 == 0 ? "x" : "12");
        } catch (NumberFormatException e) {
            return 1;
        }
    }

    static int touched;
}
