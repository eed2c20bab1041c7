import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/** Acquires known numbers of locks in every way there is, in so many threads, so many times each. */
public class Acquires {
    static final class Monitor {}

    static final class Guarded {
        private long sum;

        synchronized void add(int n) {
            sum += n;
        }

        synchronized void fail() {
            throw new IllegalStateException();
        }
    }

    static final class Held {}

    static final class Waited {}

    static final class Interrupted {}

    static final class Left {}

    static final class Twice {}

    static final class Gate {}

    static final class Segment extends ReentrantLock {}

    static final class Overridden extends ReentrantLock {
        @Override
        public void lock() {
            super.lock();
        }
    }

    /** What has methods of that name, and is no lock. */
    static final class Door {
        private int locked;

        void lock() {
            locked++;
        }

        void unlock() {
            locked--;
        }
    }

    private static long all;

    static synchronized void count() {
        all++;
    }

    public static void main(String[] arguments) throws Exception {
        int threads = Integer.parseInt(arguments[0]);
        int rounds = Integer.parseInt(arguments[1]);
        Thread[] workers = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            workers[i] = new Thread(() -> work(rounds), "worker-" + i);
            workers[i].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
        // What is held meanwhile is told in nanoseconds: by the sleeping, which is not of the planned length on a busy machine.
        hold();
        await();
        interrupted();
        interruptedCondition();
        left();
        twice();
        handOver();
        guarded();
        System.out.println("acquired");
    }

    private static void work(int rounds) {
        Monitor monitor = new Monitor();
        Guarded guarded = new Guarded();
        Lock lock = new ReentrantLock();
        ReentrantReadWriteLock readWrite = new ReentrantReadWriteLock();
        Segment segment = new Segment();
        Overridden overridden = new Overridden();
        StampedLock stamped = new StampedLock();
        Door door = new Door();
        try {
            for (int i = 0; i < rounds; i++) {
                synchronized (monitor) {
                    synchronized (monitor) {
                        guarded.add(i);
                    }
                }
                try {
                    guarded.fail();
                } catch (IllegalStateException expected) {
                    count();
                }
                lock.lock();
                try {
                    if (lock.tryLock()) {
                        lock.unlock();
                    }
                } finally {
                    lock.unlock();
                }
                if (lock.tryLock(1, TimeUnit.SECONDS)) {
                    lock.unlock();
                }
                readWrite.readLock().lock();
                readWrite.readLock().unlock();
                readWrite.writeLock().lock();
                readWrite.writeLock().unlock();
                segment.lock();
                segment.unlock();
                overridden.lock();
                overridden.unlock();
                stamped.unlockWrite(stamped.writeLock());
                long stamp = stamped.tryReadLock(1, TimeUnit.SECONDS);
                stamped.unlock(stamp);
                door.lock();
                door.unlock();
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Held for 100 ms of 700. */
    private static void hold() throws InterruptedException {
        Waited waited = new Waited();
        synchronized (waited) {
            long held = sleep(100);
            waited.wait(300);
            waited.wait(299, 999_999);
            System.out.println(held);
        }
    }

    private static void await() throws InterruptedException {
        ReentrantLock lock = new ReentrantLock();
        Condition condition = lock.newCondition();
        lock.lockInterruptibly();
        try {
            long held = sleep(50);
            condition.await(600, TimeUnit.MILLISECONDS);
            System.out.println(held + sleep(50));
        } finally {
            lock.unlock();
        }
    }

    /** Held for 200 ms of 600, before a wait that ends in an exception and after it. */
    private static void interrupted() throws InterruptedException {
        Interrupted interrupted = new Interrupted();
        synchronized (interrupted) {
            long held = sleep(100);
            interruptLater();
            try {
                interrupted.wait();
            } catch (InterruptedException expected) {
                System.out.println(held + sleep(100));
            }
        }
    }

    private static void interruptedCondition() throws InterruptedException {
        ReentrantLock lock = new ReentrantLock();
        Condition condition = lock.newCondition();
        lock.lock();
        long held = sleep(100);
        try {
            interruptLater();
            condition.await();
        } catch (InterruptedException expected) {
            System.out.println(held + sleep(100));
        } finally {
            lock.unlock();
        }
    }

    /** The same, where the exception leaves the method that waits. */
    private static void left() throws InterruptedException {
        Left left = new Left();
        synchronized (left) {
            long held = sleep(100);
            interruptLater();
            try {
                waitFor(left);
            } catch (InterruptedException expected) {
                System.out.println(held + sleep(100));
            }
        }
    }

    private static void waitFor(Object monitor) throws InterruptedException {
        monitor.wait();
    }

    /** Acquired twice, held for 100 ms by each, and for 100 more by the first; 600 ms are waited. */
    private static void twice() throws InterruptedException {
        Twice twice = new Twice();
        synchronized (twice) {
            long held = sleep(100);
            long again = again(twice);
            System.out.println(held + again);
            System.out.println(again);
        }
    }

    /** Locks that are not let go of in the order opposite to that in which they were acquired. */
    private static void handOver() throws InterruptedException {
        ReentrantLock first = new ReentrantLock();
        ReentrantLock second = new ReentrantLock();
        first.lock();
        synchronized (new Gate()) {
            take(second);
            first.unlock();
        }
        System.out.println(sleep(200));
        second.unlock();
    }

    /** What is no lock does not let go of its monitor. */
    private static void guarded() throws InterruptedException {
        Door door = new Door();
        synchronized (door) {
            door.unlock();
            System.out.println(sleep(100));
        }
    }

    private static void take(ReentrantLock lock) {
        lock.lock();
    }

    private static long again(Twice twice) throws InterruptedException {
        synchronized (twice) {
            long held = sleep(50);
            twice.wait(600);
            return held + sleep(50);
        }
    }

    private static void interruptLater() {
        Thread waiting = Thread.currentThread();
        new Thread(() -> {
            try {
                Thread.sleep(400);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            waiting.interrupt();
        }).start();
    }

    /** Sleeps for so many milliseconds, and returns how many nanoseconds it took. */
    private static long sleep(long millis) throws InterruptedException {
        long before = System.nanoTime();
        Thread.sleep(millis);
        return System.nanoTime() - before;
    }
}
