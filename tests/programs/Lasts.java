import java.util.Arrays;

/** Calls a method that takes a known time, and measures it itself. */
public class Lasts {
    static volatile long sink;

    static int spin(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum += i ^ sum;
        }
        return sum;
    }

    /** What each execution took, as it sees it, and as its caller does. */
    static long[] inside;
    static long[] outside;
    static int executions;

    static void last(long nanos) {
        long began = System.nanoTime();
        long end = began + nanos;
        int n = 1;
        do {
            sink = spin(n++ % 20);
        } while (System.nanoTime() < end);
        inside[executions] = System.nanoTime() - began;
    }

    static void call(long nanos) {
        long began = System.nanoTime();
        last(nanos);
        outside[executions++] = System.nanoTime() - began;
    }

    /** What waits is a root's time, too. */
    static void outer(long nanos) throws InterruptedException {
        Thread.sleep(2);
        call(nanos);
    }

    static void tell(String what, long[] took) {
        Arrays.sort(took);
        StringBuilder told = new StringBuilder(what);
        for (long nanos : took) {
            told.append(' ').append(nanos);
        }
        System.out.println(told);
    }

    public static void main(String[] arguments) throws Exception {
        int few = Integer.parseInt(arguments[0]);
        int below = Integer.parseInt(arguments[1]);
        inside = new long[few + 1000 + below];
        outside = new long[inside.length];
        // Until all is instrumented, which is not the method's time.
        for (int i = 0; i < few; i++) {
            call(1000);
        }
        for (int i = 0; i < 1000; i++) {
            call(i % 250 == 1 ? 30_000_000 : i % 50 == 0 ? 2_000_000 : 50_000);
        }
        for (int i = 0; i < below; i++) {
            outer(1000);
        }
        tell("inside", inside);
        tell("outside", outside);
    }
}
