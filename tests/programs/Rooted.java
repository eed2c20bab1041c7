import java.util.concurrent.atomic.AtomicInteger;

/**
 * Threads that call a method, and what that calls by itself, until there is a line of input. Each is in a method around that, which
 * it leaves, and enters again, when the line begins with {@code t}.
 */
public class Rooted {
    static final int THREADS = 64;

    private static volatile boolean over;
    private static volatile int turn;
    private static final AtomicInteger STAYING = new AtomicInteger();
    private static volatile int sink;

    static int tiny(int n) {
        return n + 1;
    }

    static int step(int n) {
        int sum = n;
        for (int i = 0; i < 10; i++) {
            sum = tiny(sum);
        }
        return sum;
    }

    static void round() {
        int sum = 0;
        for (int i = 0; i < 5; i++) {
            sum += i == 4 && turn == 1 ? Late.late(i) : step(i);
        }
        sink = sum;
    }

    /** Loaded when threads have been in their methods for a while. */
    static class Late {
        static int late(int n) {
            return step(n);
        }
    }

    static void elsewhere() {
        sink = step(tiny(1));
    }

    static void stay() {
        int began = turn;
        STAYING.incrementAndGet();
        while (!over && turn == began) {
            for (int i = 0; i < 20; i++) {
                round();
                elsewhere();
            }
            try {
                Thread.sleep(2);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    static void work() {
        while (!over) {
            stay();
        }
    }

    /** Works in threads that are made by the caller, which starts and joins them. */
    static void run(Thread[] threads) throws Exception {
        for (Thread thread : threads) {
            thread.start();
        }
        while (!over) {
            while (STAYING.get() < threads.length * (turn + 1)) {
                Thread.sleep(1);
            }
            System.out.println("working");
            while (System.in.available() == 0) {
                Thread.sleep(10);
            }
            int first = System.in.read();
            if (first == 't' && System.in.read() == '\n') {
                turn++;
            } else {
                System.err.println("read " + first);
                over = true;
            }
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("done");
    }

    public static void main(String[] arguments) throws Exception {
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(Rooted::work, "rooted-" + i);
        }
        run(threads);
    }
}
