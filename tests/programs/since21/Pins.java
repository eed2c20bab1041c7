import java.util.concurrent.locks.LockSupport;

/**
 * Virtual threads that wait in ways in which they may have to keep their carriers: within a monitor, for a monitor, in
 * <code>Object.wait</code>, and below a native method, which reflection is where it is told to do without code of its own.
 */
public class Pins {
    private static final Object MONITOR = new Object();

    public static void main(String[] arguments) throws Exception {
        Thread.ofVirtual().start(Pins::within).join();
        Thread.ofVirtual().start(Pins::below).join();
        Thread.ofVirtual().start(Pins::notified).join();
        Thread.ofVirtual().start(Pins::free).join();
        Thread waits;
        synchronized (MONITOR) {
            waits = Thread.ofVirtual().start(Pins::contended);
            while (waits.getState() != Thread.State.BLOCKED) {
                Thread.sleep(1);
            }
            Thread.sleep(30);
        }
        waits.join();
    }

    private static void within() {
        synchronized (new Object()) {
            sleep();
        }
    }

    private static void below() {
        try {
            Pins.class.getDeclaredMethod("park").invoke(null);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    static void park() {
        long end = System.nanoTime() + 30_000_000;
        for (long now; (now = System.nanoTime()) < end;) {
            LockSupport.parkNanos(MONITOR, end - now);
        }
    }

    private static void notified() {
        Object own = new Object();
        synchronized (own) {
            try {
                own.wait(30);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** Keeps nothing. */
    private static void free() {
        sleep();
        park();
    }

    private static void contended() {
        synchronized (MONITOR) {
            MONITOR.notifyAll();
        }
    }

    private static void sleep() {
        try {
            Thread.sleep(30);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
