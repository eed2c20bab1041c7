import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * As many threads as it is told, each of which has a lock and wants that of the next: monitors, locks, write locks, or all of
 * them in turn. With {@code none} the last one wants nothing, so that nobody waits for ever. Says when all wait, and ends with
 * its input.
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
        List<Thread> started = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Held own = locks.get(i);
            Held next = kind.equals("none") && i == threads - 1 ? null : locks.get((i + 1) % threads);
            Thread thread = new Thread(() -> work(own, next), "circle-" + i);
            thread.setDaemon(true);
            thread.start();
            started.add(thread);
        }
        if (!kind.equals("none")) {
            for (Thread thread : started) {
                while (thread.getState() != Thread.State.BLOCKED && thread.getState() != Thread.State.WAITING) {
                    Thread.sleep(1);
                }
            }
        }
        System.out.println("waiting");
        while (System.in.read() >= 0) {
            continue;
        }
    }

    private static Held held(String kind, int number) {
        String[] kinds = {"monitor", "lock", "write"};
        switch (kind.equals("mixed") || kind.equals("none") ? kinds[number % kinds.length] : kind) {
            case "monitor":
                Object monitor = new Object();
                return work -> {
                    synchronized (monitor) {
                        work.run();
                    }
                };
            case "lock":
                return of(new ReentrantLock());
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

    private static void work(Held own, Held next) {
        own.during(() -> {
            all.countDown();
            try {
                all.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            if (next != null) {
                next.during(() -> { });
            }
        });
    }
}
