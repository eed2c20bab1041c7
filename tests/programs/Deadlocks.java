import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * As many threads as it is told, each of which has a lock and wants that of the next: monitors, locks, write locks, or all of
 * them in turn. With {@code none} the last one wants nothing, so that nobody waits for ever; with {@code timed} all wait for an
 * hour only. With {@code later} they wait for each other a second after it was said that they do; with {@code self} they have a
 * lock that cannot be taken twice, and want it again; with {@code orphan} they want a lock whose holder has ended. Says when all
 * wait, and ends with its input.
 */
public class Deadlocks {
    private static CountDownLatch all;

    /** Runs something while it has a lock. */
    private interface Held {
        void during(Runnable work);
    }

    public static void main(String[] arguments) throws Exception {
        String kind = arguments[0];
        int threads = Integer.parseInt(arguments[1]);
        all = new CountDownLatch(threads);
        List<Held> locks = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            locks.add(held(kind, i));
        }
        boolean alone = kind.equals("self") || kind.equals("orphan");
        if (kind.equals("orphan")) {
            for (Held lock : locks) {
                Thread holder = new Thread(() -> lock.during(() -> {
                    throw new IllegalStateException("keeps it");
                }));
                holder.setUncaughtExceptionHandler((thread, error) -> { });
                holder.start();
                holder.join();
            }
        }
        List<Thread.State> waits =
                Arrays.asList(Thread.State.BLOCKED, Thread.State.WAITING, Thread.State.TIMED_WAITING);
        List<Thread> started = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Held own = locks.get(i);
            Held next = kind.equals("none") && i == threads - 1 ? null : locks.get((i + (alone ? 0 : 1)) % threads);
            Thread thread = new Thread(() -> work(kind.equals("orphan") ? null : own, next, kind.equals("later")), "circle-" + i);
            thread.setDaemon(true);
            thread.start();
            started.add(thread);
        }
        if (!kind.equals("none") && !kind.equals("later")) {
            for (Thread thread : started) {
                while (!waits.contains(thread.getState()) || isBefore(thread)) {
                    Thread.sleep(1);
                }
            }
        }
        System.out.println("waiting");
        while (System.in.read() >= 0) {
            continue;
        }
    }

    /** Whether a thread is where all wait for each other to have their first lock, and not yet for the second. */
    private static boolean isBefore(Thread thread) {
        for (StackTraceElement frame : thread.getStackTrace()) {
            if (frame.getClassName().contains("CountDownLatch")) {
                return true;
            }
        }
        return false;
    }

    private static Held held(String kind, int number) {
        String[] kinds = {"monitor", "lock", "write"};
        boolean mixed = kind.equals("mixed") || kind.equals("none") || kind.equals("later");
        switch (mixed ? kinds[number % kinds.length] : kind) {
            case "monitor":
                Object monitor = new Object();
                return work -> {
                    synchronized (monitor) {
                        work.run();
                    }
                };
            case "lock":
                return of(new ReentrantLock());
            case "timed":
                return timed(new ReentrantLock());
            case "self":
                Once once = new Once();
                return work -> {
                    once.acquire(1);
                    work.run();
                };
            case "orphan":
                ReentrantLock kept = new ReentrantLock();
                return work -> {
                    kept.lock();
                    work.run();
                };
            default:
                return of(new ReentrantReadWriteLock().writeLock());
        }
    }

    private static Held of(Lock lock) {
        return work -> {
            lock.lock();
            try {
                work.run();
            } finally {
                lock.unlock();
            }
        };
    }

    private static Held timed(Lock lock) {
        return work -> {
            try {
                if (lock.tryLock(1, TimeUnit.HOURS)) {
                    work.run();
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        };
    }

    /** A lock that its owner cannot take again. */
    private static final class Once extends AbstractQueuedSynchronizer {
        @Override
        protected boolean tryAcquire(int times) {
            boolean free = compareAndSetState(0, 1);
            if (free) {
                setExclusiveOwnerThread(Thread.currentThread());
            }
            return free;
        }
    }

    private static void work(Held own, Held next, boolean later) {
        if (own == null) {
            all.countDown();
            next.during(() -> { });
            return;
        }
        own.during(() -> {
            all.countDown();
            try {
                all.await();
                if (later) {
                    Thread.sleep(1000);
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            if (next != null) {
                next.during(() -> { });
            }
        });
    }
}
