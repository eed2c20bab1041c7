import java.util.concurrent.locks.ReentrantLock;

/** Acquires a lock, or lets go of it, each time that its input has a line that says so. */
public class LocksByTurns {
    private static final ReentrantLock LOCK = new ReentrantLock();

    private static void acquire() {
        LOCK.lock();
    }

    private static void release() {
        LOCK.unlock();
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("working");
        while (System.in.read() == 't') {
            System.in.read();
            if (LOCK.isHeldByCurrentThread()) {
                release();
            } else {
                acquire();
            }
            System.out.println("working");
        }
        System.out.println("done");
    }
}
