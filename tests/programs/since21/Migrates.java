import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** Virtual threads that yield, sleep, park and wait for locks in the middle of their work. */
public class Migrates {
    static final ReentrantLock LOCK = new ReentrantLock();
    static volatile int sink;

    static void leaf(int n) {
        sink = n;
    }

    static void inner(int i) throws Exception {
        leaf(i);
        switch (i % 4) {
            case 0 -> Thread.yield();
            case 1 -> Thread.sleep(1);
            case 2 -> LockSupport.parkNanos(1000);
            default -> {
                LOCK.lock();
                try {
                    Thread.yield();
                } finally {
                    LOCK.unlock();
                }
            }
        }
        leaf(i);
    }

    static void outer(int rounds) {
        try {
            for (int i = 0; i < rounds; i++) {
                inner(i);
                leaf(i);
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]), rounds = Integer.parseInt(args[1]);
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            threads[i] = Thread.ofVirtual().name("v-" + i).start(() -> outer(rounds));
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
