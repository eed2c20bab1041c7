import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Programs that make profilers lie. In {@code figure1}, a long sequence without calls is followed by two short calls:
 * whoever only looks at calls finds the first of them hot. In {@code counted}, most time goes by in a loop in which HotSpot
 * does not stop, and whoever waits for it to stop charges what comes next. Each part's true share is measured and printed.
 */
public class Biased {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static int a, b, c, d, sink;
    static int[] numbers = new int[5_000];

    public static void main(String[] arguments) {
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000;
        long figure = 0, loop = 0, after = 0;
        while (System.nanoTime() < end) {
            long t0 = now();
            for (int i = 0; i < 20; i++) figure1();
            long t1 = now();
            for (int i = 0; i < 100; i++) counted();
            long t2 = now();
            for (int i = 0; i < 100; i++) afterCounted();
            long t3 = now();
            figure += t1 - t0;
            loop += t2 - t1;
            after += t3 - t2;
        }
        System.out.println(figure + " " + loop + " " + after);
    }

    private static long now() {
        return THREADS.getCurrentThreadCpuTime();
    }

    static void figure1() {
        for (int i = 0; i < 100; i++) {
            for (int j = 0; j < 200; j++) {
                a = b + j; b = c ^ a; c = d + b; d = a ^ c; a = d + i; b = a ^ j; c = b + a; d = c ^ b;
            }
            call1();
            call2();
        }
    }

    static void call1() {
        for (int j = 0; j < 20; j++) { a = b + j; b = c ^ a; c = d + b; d = a ^ c; }
    }

    static void call2() {
        for (int j = 0; j < 20; j++) { a = b + j; b = c ^ a; c = d + b; d = a ^ c; }
    }

    static void counted() {
        int x = sink;
        int[] n = numbers;
        for (int i = 0; i < n.length; i++) x = x * 31 + n[i];
        sink = x;
    }

    static void afterCounted() {
        int x = sink;
        int[] n = numbers;
        for (int i = 0; i < n.length / 10; i++) x = x * 31 + n[i];
        sink = x;
    }
}
