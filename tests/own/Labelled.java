import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import quipu.Label;
import quipu.Profiler;

/** Profiles itself: works for one customer three times as long as for another, and before and after for nobody. */
public class Labelled {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static volatile long sink;

    public static void main(String[] arguments) {
        long millis = Long.parseLong(arguments[0]);
        unseen(millis);
        Profiler.start("cpu=1000");
        try (Label request = Profiler.label("checkout")) {
            try (Label customer = Profiler.label("customer", "ann")) {
                work(3 * millis);
            }
            try (Label customer = Profiler.label("customer", "bob")) {
                work(millis);
            }
        }
        idle(millis);
        Profiler.stop();
        unseen(millis);
        try {
            Profiler.start("nonsense");
        } catch (IllegalStateException refused) {
            System.out.println("refused: " + refused.getMessage());
        }
        System.out.println(Profiler.isPresent() ? "profiled" : "alone");
    }

    private static void unseen(long millis) {
        work(millis);
    }

    private static void idle(long millis) {
        work(millis);
    }

    private static void work(long millis) {
        long end = THREADS.getCurrentThreadCpuTime() + millis * 1_000_000;
        while (THREADS.getCurrentThreadCpuTime() < end) {
            sink += sink ^ end;
        }
    }
}
