import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.StampedLock;
import java.util.function.Predicate;

/**
 * Threads that wait for a lock while main holds it: each exactly once in a round, for a time that it measures itself. Then main
 * waits to be notified, so many times. Prints what was waited, in nanoseconds.
 */
public class Contended {
    private static final Object MONITOR = new Object();
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static final StampedLock STAMPED = new StampedLock();

    private static long waited;
    private static long milliseconds = 10;

    public static void main(String[] arguments) throws Exception {
        String lock = arguments[0];
        int threads = Integer.parseInt(arguments[1]);
        int rounds = Integer.parseInt(arguments[2]);
        if (arguments.length > 3) {
            milliseconds = Long.parseLong(arguments[3]);
        }
        CyclicBarrier barrier = new CyclicBarrier(threads + 1);
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(() -> work(lock, rounds, barrier), "waiter-" + i);
            thread.start();
            all.add(thread);
        }
        for (int i = 0; i < rounds; i++) {
            if (lock.equals("monitor")) {
                holdMonitor(barrier, all);
            } else if (lock.equals("stamped")) {
                holdStamped(barrier, all);
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
            hold(all, thread -> thread.getState() == Thread.State.BLOCKED);
        }
    }

    private static void holdLock(CyclicBarrier barrier, List<Thread> all) throws Exception {
        LOCK.lock();
        try {
            barrier.await();
            hold(all, LOCK::hasQueuedThread);
        } finally {
            LOCK.unlock();
        }
    }

    private static void holdStamped(CyclicBarrier barrier, List<Thread> all) throws Exception {
        long stamp = STAMPED.writeLock();
        try {
            barrier.await();
            hold(all, thread -> LockSupport.getBlocker(thread) == STAMPED);
        } finally {
            STAMPED.unlockWrite(stamp);
        }
    }

    /** Until all wait, and some time more. */
    private static void hold(List<Thread> all, Predicate<Thread> waits) {
        for (Thread thread : all) {
            while (!waits.test(thread)) {
                Thread.yield();
            }
        }
        long end = System.nanoTime() + milliseconds * 1_000_000;
        while (System.nanoTime() < end) {
            Thread.yield();
        }
    }

    private static void work(String lock, int rounds, CyclicBarrier barrier) {
        try {
            for (int i = 0; i < rounds; i++) {
                barrier.await();
                if (lock.equals("monitor")) {
                    enter();
                } else if (lock.equals("stamped")) {
                    stamp();
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

    private static void stamp() {
        long began = System.nanoTime();
        long stamp = STAMPED.writeLock();
        waited += System.nanoTime() - began;
        STAMPED.unlockWrite(stamp);
    }

    private static void sleepInWait() throws InterruptedException {
        Object own = new Object();
        synchronized (own) {
            own.wait(20);
        }
    }
}
