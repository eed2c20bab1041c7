import java.util.concurrent.atomic.AtomicLong;

/**
 * Hundreds of threads that run out of stack again and again, on stacks of all sizes and from all depths, in code that
 * opens new calling contexts all the way down; and that do something known behind all that. Arguments: threads, overflows of each.
 */
public class Overflows {
    static final AtomicLong OVERFLOWS = new AtomicLong();
    static final Object LOCK = new Object();
    static volatile int sink;
    static volatile Object made;

    static int a(int n, int seed) {
        return ((seed >>> (n & 31)) & 1) == 0 ? b(n + 1, seed) : c(n + 1, seed);
    }

    static int b(int n, int seed) {
        switch ((seed >>> (n * 7 & 31)) & 3) {
            case 0:
                return a(n + 1, seed * 31 + 1);
            case 1:
                return c(n + 1, seed) + 1;
            case 2:
                return new Object() {
                    int deeper() {
                        return d(n + 1, seed, 1.5, "x", 7L);
                    }
                }.deeper();
            default:
                return b(n + 1, seed * 7 + 3);
        }
    }

    static int c(int n, int seed) {
        try {
            return (n & 1) == 0 ? a(n + 1, seed ^ n) : b(n + 1, seed + n);
        } finally {
            sink = n;
        }
    }

    static int d(int n, int seed, double x, String s, long y) {
        StringBuilder made = new StringBuilder();
        made.append(s).append(n % 10);
        // Whatever is thrown in here, the lock is let go of.
        synchronized (made) {
            // Also where that waits.
            if ((n & 127) == 5) {
                try {
                    made.wait(1);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
            return a(n + made.length(), seed + (int) y);
        }
    }

    /** Goes down by so many small steps before anything else. */
    static int from(int depth, int seed) {
        return depth > 0 ? from(depth - 1, seed) : a(0, seed);
    }

    static void overflow(int times, int seed) {
        for (int i = 0; i < times; i++) {
            try {
                from((seed + i) % 97, seed * 0x9E3779B1 + i);
            } catch (StackOverflowError expected) {
                OVERFLOWS.incrementAndGet();
            }
        }
    }

    static void step(int i) {
        made = new int[i & 7];
        synchronized (LOCK) {
            sink = i;
        }
    }

    static void later() {
        for (int i = 0; i < 100; i++) {
            step(i);
        }
    }

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[0]);
        int times = Integer.parseInt(args[1]);
        Thread[] all = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            int seed = i;
            Runnable body = () -> {
                overflow(times, seed);
                later();
            };
            String name = "overflow-" + i;
            // 64 KB is below what some VMs want; they take what they need.
            long size = 64 * 1024 + 2000L * i;
            all[i] = new Thread(null, body, name, size);
        }
        for (Thread thread : all) {
            thread.start();
        }
        for (Thread thread : all) {
            thread.join();
        }
        System.out.println(OVERFLOWS.get() + " overflows");
    }
}
