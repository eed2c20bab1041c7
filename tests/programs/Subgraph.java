import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;

/**
 * A method that reaches others in every way there is, called by several threads, beside the same methods called by themselves.
 * Prints how long methods of known length took, as they measured it.
 */
public class Subgraph {
    interface Shape {
        long area();

        default long twice() {
            return 2 * area();
        }
    }

    static class Square implements Shape {
        @Override
        public long area() {
            return side(3) * side(3);
        }

        private long side(int n) {
            return n + getter();
        }
    }

    static class Circle extends Square {
        @Override
        public long area() {
            return super.area() + 1;
        }

        @Override
        public int hashCode() {
            return (int) ring(7);
        }

        @Override
        public boolean equals(Object other) {
            return other == this;
        }
    }

    /** Loaded when a thread is in the root already. */
    static class Late implements Shape {
        @Override
        public long area() {
            return ring(4);
        }
    }

    static class Refused extends Exception {
        Refused(String why) {
            super(why);
        }
    }

    private static long value = 3;
    static final long[] TOOK = new long[3];
    /** Time in calls of those methods, but not in them: what measuring takes, and other processes. */
    static long beside;

    static long getter() {
        return value;
    }

    static long ring(int n) {
        return n <= 0 ? 0 : ring(n - 1) + 1;
    }

    static long refuse(int n) throws Refused {
        if (n == 0) {
            throw new Refused("no");
        }
        return refuse(n - 1) + getter();
    }

    static long lenient(int n) {
        try {
            return refuse(n);
        } catch (Refused refused) {
            return after(n);
        } finally {
            after(0);
        }
    }

    static long after(int n) {
        return ring(n);
    }

    static long handed(int n) {
        return ring(2) + n;
    }

    public static long hidden(int n) {
        return ring(n);
    }

    static long reflected(int n) {
        try {
            return (Long) Subgraph.class.getMethod("hidden", int.class).invoke(null, n);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static synchronized long locked(int n) {
        return ring(n) + getter();
    }

    static long took(int which, long nanos) {
        long began = System.nanoTime();
        long now;
        do {
            now = System.nanoTime();
        } while (now - began < nanos);
        TOOK[which] += now - began;
        return now;
    }

    static long five() {
        return took(0, 5_000);
    }

    static long twenty() {
        return took(1, 20_000);
    }

    static long eighty() {
        return took(2, 80_000);
    }

    /** Called in known numbers, and takes known times. */
    static long timed() {
        long before = TOOK[0] + TOOK[1] + TOOK[2];
        long began = System.nanoTime();
        long sum = five() + twenty() + eighty();
        beside += System.nanoTime() - began - (TOOK[0] + TOOK[1] + TOOK[2] - before);
        for (int i = 0; i < 2_000; i++) {
            sum += getter();
        }
        return sum;
    }

    static long place(int i, boolean late) {
        long sum = 0;
        Shape shape = (i & 1) == 0 ? new Square() : new Circle();
        sum += shape.area() + shape.twice() + shape.hashCode() % 2;
        Supplier<Long> lambda = () -> handed(i);
        sum += lambda.get();
        IntUnaryOperator reference = Subgraph::increased;
        sum += reference.applyAsInt(i);
        sum += lenient(i % 4) + locked(2);
        for (int k = 0; k < 10; k++) {
            sum += getter();
        }
        List<Object> list = new ArrayList<>();
        list.add(shape);
        sum += list.indexOf(shape);
        if (late) {
            sum += new Late().area();
        }
        if (i % 100 == 0) {
            sum += reflected(3);
        }
        return sum;
    }

    static int increased(int n) {
        return n + 1;
    }

    /** The same methods, which are not below the root here. */
    static long elsewhere(int i) {
        return ring(3) + getter() + lenient(1) + new Square().area() + locked(1) + reflected(1);
    }

    static long both(int i, boolean late) {
        return place(i, late) + elsewhere(i);
    }

    public static void main(String[] arguments) throws InterruptedException {
        int rounds = Integer.parseInt(arguments[0]);
        Thread[] threads = new Thread[Integer.parseInt(arguments[1])];
        for (int t = 0; t < threads.length; t++) {
            threads[t] = new Thread(() -> {
                long sum = 0;
                for (int i = 0; i < rounds; i++) {
                    sum += both(i, i >= rounds / 2);
                }
                value += sum == 42 ? 1 : 0;
            }, "worker-" + t);
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (arguments.length > 2) {
            for (int i = 0; i < Integer.parseInt(arguments[2]); i++) {
                value += timed() == 42 ? 1 : 0;
            }
            System.out.println("took " + TOOK[0] + " " + TOOK[1] + " " + TOOK[2] + " " + beside);
        }
        System.out.println("done");
    }
}
