import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A virtual thread that has a monitor, or a lock, for which a platform thread waits; or, with {@code circle}, two virtual threads
 * each of which has a monitor, or a lock, that the other wants. Says when all wait, and ends with its input.
 */
public class HeldByVirtual {
    public static void main(String[] arguments) throws Exception {
        boolean monitor = arguments[1].equals("monitor");
        List<Thread> waiters = new ArrayList<>();
        if (arguments[0].equals("circle")) {
            Object[] locks = {monitor ? new Object() : new ReentrantLock(), monitor ? new Object() : new ReentrantLock()};
            CountDownLatch both = new CountDownLatch(2);
            for (int i = 0; i < 2; i++) {
                int own = i;
                waiters.add(Thread.ofVirtual().name("virtual-" + i).start(() -> with(locks[own], () -> {
                    both.countDown();
                    await(both);
                    with(locks[1 - own], () -> { });
                })));
            }
        } else {
            Object lock = monitor ? new Object() : new ReentrantLock();
            CountDownLatch held = new CountDownLatch(1);
            Thread.ofVirtual().name("holder").start(() -> with(lock, () -> {
                held.countDown();
                while (true) {
                    LockSupport.park();
                }
            }));
            held.await();
            waiters.add(Thread.ofPlatform().daemon().name("waiter").start(() -> with(lock, () -> { })));
        }
        for (Thread waiter : waiters) {
            while (waiter.getState() != Thread.State.BLOCKED && waiter.getState() != Thread.State.WAITING) {
                Thread.sleep(1);
            }
        }
        System.out.println("waiting");
        while (System.in.read() >= 0) {
            continue;
        }
        Runtime.getRuntime().halt(0);
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void with(Object lock, Runnable work) {
        if (lock instanceof ReentrantLock of) {
            of.lock();
            try {
                work.run();
            } finally {
                of.unlock();
            }
        } else {
            synchronized (lock) {
                work.run();
            }
        }
    }
}
