import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Virtual threads that wait for a lock while main holds it, or with a fourth argument a virtual thread: each once, for a time that
 * it measures itself. Arguments: the kind of lock, threads in a round, rounds. Prints what was waited, in nanoseconds.
 */
public class ContendedVirtual {
    private static final Object MONITOR = new Object();
    private static final ReentrantLock LOCK = new ReentrantLock();

    private static long waited;

    public static void main(String[] arguments) throws Exception {
        boolean monitor = arguments[0].equals("monitor");
        int threads = Integer.parseInt(arguments[1]);
        int rounds = Integer.parseInt(arguments[2]);
        if (arguments.length > 3) {
            Thread.ofVirtual().name("holder").start(() -> holder(monitor, threads, rounds)).join();
        } else {
            rounds(monitor, threads, rounds);
        }
        System.out.println(waited);
    }

    private static void holder(boolean monitor, int threads, int rounds) {
        try {
            rounds(monitor, threads, rounds);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static void rounds(boolean monitor, int threads, int rounds) throws Exception {
        for (int round = 0; round < rounds; round++) {
            List<Thread> all = new ArrayList<>();
            if (monitor) {
                synchronized (MONITOR) {
                    hold(all, threads, true);
                }
            } else {
                LOCK.lock();
                try {
                    hold(all, threads, false);
                } finally {
                    LOCK.unlock();
                }
            }
            for (Thread thread : all) {
                thread.join();
            }
        }
    }

    /** Until all wait, and some time more. */
    private static void hold(List<Thread> all, int threads, boolean monitor) throws Exception {
        for (int i = 0; i < threads; i++) {
            all.add(Thread.ofVirtual().name("virtual-" + i).start(() -> {
                if (monitor) {
                    enter();
                } else {
                    lock();
                }
            }));
        }
        for (Thread thread : all) {
            while (thread.getState() != (monitor ? Thread.State.BLOCKED : Thread.State.WAITING)) {
                Thread.sleep(1);
            }
        }
        Thread.sleep(40);
    }

    private static void enter() {
        long began = System.nanoTime();
        synchronized (MONITOR) {
            waited += System.nanoTime() - began;
        }
    }

    private static void lock() {
        long began = System.nanoTime();
        LOCK.lock();
        try {
            waited += System.nanoTime() - began;
        } finally {
            LOCK.unlock();
        }
    }
}
