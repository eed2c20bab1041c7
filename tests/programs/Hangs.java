import java.util.concurrent.locks.ReentrantLock;

/**
 * Has threads wait for a monitor and for a lock that they never get, when its input says so or, with an argument, at once. It ends when
 * its input does.
 */
public class Hangs {
    static final class Monitor {}

    private static final Monitor MONITOR = new Monitor();
    private static final ReentrantLock LOCK = new ReentrantLock();

    public static void main(String[] arguments) throws Exception {
        LOCK.lock();
        synchronized (MONITOR) {
            if (arguments.length == 0) {
                System.out.println("working");
                System.in.read();
                System.in.read();
            }
            hang();
            System.out.println("working");
            System.in.read();
        }
        System.out.println("done");
        System.exit(0);
    }

    private static void hang() throws InterruptedException {
        Thread monitor = new Thread(Hangs::enter, "monitor");
        Thread lock = new Thread(Hangs::lock, "lock");
        monitor.start();
        lock.start();
        while (monitor.getState() != Thread.State.BLOCKED || !LOCK.hasQueuedThread(lock)) {
            Thread.sleep(1);
        }
        // It is in the queue a moment before it parks.
        while (lock.getState() != Thread.State.WAITING) {
            Thread.sleep(1);
        }
        Thread.sleep(100);
    }

    private static void enter() {
        synchronized (MONITOR) {
            MONITOR.notifyAll();
        }
    }

    private static void lock() {
        LOCK.lock();
    }
}
