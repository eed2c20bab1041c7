import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.atomic.AtomicLong;

/** Many threads, two at a time, each of which uses so many microseconds of CPU time; prints what they used together. */
public class ShortLived {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static volatile long sink;

    public static void main(String[] arguments) throws Exception {
        int threads = Integer.parseInt(arguments[0]);
        long nanos = Long.parseLong(arguments[1]) * 1000;
        AtomicLong used = new AtomicLong();
        for (int i = 0; i < threads; i += 2) {
            Thread one = new Thread(() -> used.addAndGet(burn(nanos)), "short-lived " + i);
            Thread other = new Thread(() -> used.addAndGet(burn(nanos)), "short-lived " + (i + 1));
            one.start();
            other.start();
            one.join();
            other.join();
        }
        System.out.println(used);
    }

    private static long burn(long nanos) {
        long now;
        while ((now = THREADS.getCurrentThreadCpuTime()) < nanos) {
            sink += spin();
        }
        return now;
    }

    private static long spin() {
        long x = sink | 1;
        for (int i = 0; i < 1_000; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        return x;
    }
}
