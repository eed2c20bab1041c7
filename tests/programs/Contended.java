import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that wait for a lock while main holds it: each exactly once in a round, for a time that it measures itself. Then main
 * waits to be notified, so many times. Prints what was waited, in nanoseconds.
 */
public class Contended {
    private static final Object MONITOR = new Object();
    private static final ReentrantLock LOCK = new ReentrantLock();

    private static long waited;
    private static long milliseconds = 10;

    public static void main(String[] arguments) throws Exception {
        boolean monitor = arguments[0].equals("monitor");
        int threads = Integer.parseInt(arguments[1]);
        int rounds = Integer.parseInt(arguments[2]);
        if (arguments.length > 3) {
            milliseconds = Long.parseLong(arguments[3]);
        }
        CyclicBarrier barrier = new CyclicBarrier(threads + 1);
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(() -> work(monitor, rounds, barrier), "waiter-" + i);
            thread.start();
            all.add(thread);
        }
        for (int i = 0; i < rounds; i++) {
            if (monitor) {
                holdMonitor(barrier, all);
            } else {
                holdLock(barrier, all);
            }
            barrier.await();
        }
        for (Thread thread : all) {
            thread.join();
        }
        for (int i = 0; i < 5; i++) {
            sleepInWait();
        }
        System.out.println(waited);
    }

    private static void holdMonitor(CyclicBarrier barrier, List<Thread> all) throws Exception {
        synchronized (MONITOR) {
            barrier.await();
            hold(all, Thread.State.BLOCKED);
        }
    }

    private static void holdLock(CyclicBarrier barrier, List<Thread> all) throws Exception {
        LOCK.lock();
        try {
            barrier.await();
            hold(all, null);
        } finally {
            LOCK.unlock();
        }
    }

    /** Until all wait, and some time more. */
    private static void hold(List<Thread> all, Thread.State state) {
        for (Thread thread : all) {
            while (state == null ? !LOCK.hasQueuedThread(thread) : thread.getState() != state) {
                Thread.yield();
            }
        }
        long end = System.nanoTime() + milliseconds * 1_000_000;
        while (System.nanoTime() < end) {
            Thread.yield();
        }
    }

    private static void work(boolean monitor, int rounds, CyclicBarrier barrier) {
        try {
            for (int i = 0; i < rounds; i++) {
                barrier.await();
                if (monitor) {
                    enter();
                } else {
                    lock();
                }
                barrier.await();
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
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

    private static void sleepInWait() throws InterruptedException {
        Object own = new Object();
        synchronized (own) {
            own.wait(20);
        }
    }
}
