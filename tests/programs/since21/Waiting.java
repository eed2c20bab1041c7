import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;

/**
 * Virtual threads that wait: some sleep, some are parked, each in a method of its own, until main has slept for so many
 * milliseconds. Arguments: how many of each, milliseconds.
 */
public class Waiting {
    static volatile boolean done;

    static void sleeps() {
        while (!done) {
            try {
                Thread.sleep(100_000);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    static void parks() {
        while (!done) {
            LockSupport.park();
        }
    }

    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[0]);
        List<Thread> all = new ArrayList<>();
        CountDownLatch begun = new CountDownLatch(2 * count);
        try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < count; i++) {
                // In the container of all that have none, and in that of an executor.
                Thread sleeper = Thread.ofVirtual().name("sleeper-" + i).start(() -> {
                    begun.countDown();
                    sleeps();
                });
                synchronized (all) {
                    all.add(sleeper);
                }
                executor.submit(() -> {
                    synchronized (all) {
                        all.add(Thread.currentThread());
                    }
                    begun.countDown();
                    parks();
                });
            }
            begun.await();
            Thread.sleep(Integer.parseInt(arguments[1]));
            done = true;
            synchronized (all) {
                for (Thread thread : all) {
                    thread.interrupt();
                }
            }
        }
        System.out.println("woken");
    }
}
