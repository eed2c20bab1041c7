import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Virtual threads that make known numbers of objects and acquire known numbers of locks, one of which they hold while they give
 * their carrier back. Arguments: threads, rounds of each.
 */
public class WorksVirtual {
    static final class Made {
        long first;
    }

    static final class Monitor {}

    private static final ReentrantLock SHARED = new ReentrantLock();
    private static volatile Object last;
    private static long all;

    public static void main(String[] arguments) throws Exception {
        int threads = Integer.parseInt(arguments[0]);
        int rounds = Integer.parseInt(arguments[1]);
        CountDownLatch done = new CountDownLatch(threads);
        for (int i = 0; i < threads; i++) {
            Thread.ofVirtual().name("virtual-" + i).start(() -> {
                work(rounds);
                done.countDown();
            });
        }
        done.await();
        System.out.println("worked");
    }

    private static void work(int rounds) {
        Monitor monitor = new Monitor();
        ReentrantLock own = new ReentrantLock();
        for (int i = 0; i < rounds; i++) {
            make();
            enter(monitor);
            lock(own, i % 50 == 0);
            shared();
        }
    }

    private static void make() {
        last = new Made();
        last = new int[100];
    }

    private static void enter(Monitor monitor) {
        synchronized (monitor) {
            last = monitor;
        }
    }

    private static void lock(ReentrantLock own, boolean sleeps) {
        own.lock();
        try {
            if (sleeps) {
                sleep();
            }
        } finally {
            own.unlock();
        }
    }

    private static void shared() {
        SHARED.lock();
        try {
            all++;
        } finally {
            SHARED.unlock();
        }
    }

    private static void sleep() {
        try {
            Thread.sleep(5);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
