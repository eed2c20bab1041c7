import java.util.function.IntUnaryOperator;

/** Calls of all kinds, for a while: static, through classes and interfaces, recursive, of lambdas, of what throws; the same in every round. */
public class Dispatches {
    interface Shape {
        int area();
    }

    static final class Square implements Shape {
        private final int side;

        Square(int side) {
            this.side = side;
        }

        int side() {
            return side;
        }

        @Override
        public int area() {
            return side() * side();
        }
    }

    static final class Strip implements Shape {
        private final int length;

        Strip(int length) {
            this.length = length;
        }

        @Override
        public int area() {
            return twice(length);
        }
    }

    static int twice(int n) {
        return n + n;
    }

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static int times(int n, IntUnaryOperator operator) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum += apply(operator, i);
        }
        return sum;
    }

    static int apply(IntUnaryOperator operator, int n) {
        return operator.applyAsInt(n);
    }

    static int parse(String text) {
        try {
            return checked(text);
        } catch (IllegalArgumentException e) {
            return failed();
        }
    }

    static int checked(String text) {
        if (text.isEmpty()) {
            throw new IllegalArgumentException();
        }
        return text.length();
    }

    static int failed() {
        return -1;
    }

    static final String[] TEXTS = {"", "a", "bc", "def"};
    static final Shape[] SHAPES = {new Square(2), new Strip(3), new Square(4), new Square(5)};

    static int round() {
        int sum = fib(8);
        for (int i = 0; i < 20; i++) {
            sum += area(SHAPES[i % SHAPES.length]);
        }
        sum += times(15, i -> i ^ 5) + times(5, i -> twice(i));
        for (String text : TEXTS) {
            sum += parse(text);
        }
        return sum;
    }

    static int area(Shape shape) {
        return shape.area();
    }

    static void run(long millis) {
        long end = System.nanoTime() + millis * 1_000_000;
        int expected = round();
        do {
            for (int i = 0; i < 100; i++) {
                if (round() != expected) {
                    throw new AssertionError();
                }
            }
        } while (System.nanoTime() < end);
    }

    /** For so many milliseconds, in so many threads. */
    public static void main(String[] args) throws InterruptedException {
        long millis = Long.parseLong(args[0]);
        Thread[] threads = new Thread[Integer.parseInt(args[1])];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> run(millis), "worker-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("the same in every round");
    }
}
