import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.locks.LockSupport;

/** Two threads use CPU time 3:1; ten others wait, each in its own way, until both are done. */
public class Burning {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static volatile long sink;

    public static void main(String[] arguments) throws Exception {
        long millis = Long.parseLong(arguments[0]);
        Object monitor = new Object();
        Object condition = new Object();
        for (int i = 0; i < 10; i++) {
            Thread waiting = new Thread(waits(i, monitor, condition), "waiting " + i);
            waiting.setDaemon(true);
            waiting.start();
        }
        Thread three = new Thread(() -> threeParts(3 * millis), "three parts");
        Thread one = new Thread(() -> onePart(millis), "one part");
        synchronized (monitor) {
            three.start();
            one.start();
            three.join();
            one.join();
        }
        System.out.println("burnt");
    }

    private static Runnable waits(int i, Object monitor, Object condition) {
        switch (i % 5) {
            case 0: return () -> sleeps();
            case 1: return () -> parks();
            case 2: return () -> blocks(monitor);
            case 3: return () -> waitsFor(condition);
            default: return () -> reads();
        }
    }

    private static void sleeps() {
        try {
            Thread.sleep(1_000_000);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void parks() {
        while (true) LockSupport.park();
    }

    private static void blocks(Object monitor) {
        // So that the main thread has it first.
        LockSupport.parkNanos(200_000_000);
        synchronized (monitor) {
            sink++;
        }
    }

    private static void waitsFor(Object condition) {
        synchronized (condition) {
            try {
                condition.wait();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    private static void reads() {
        try (ServerSocket nobodyCalls = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            nobodyCalls.accept();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    static void threeParts(long millis) {
        burn(millis);
    }

    static void onePart(long millis) {
        burn(millis);
    }

    private static void burn(long millis) {
        long end = THREADS.getCurrentThreadCpuTime() + millis * 1_000_000;
        while (THREADS.getCurrentThreadCpuTime() < end) {
            sink += spin();
        }
    }

    private static long spin() {
        long x = sink | 1;
        for (int i = 0; i < 100_000; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        return x;
    }
}
