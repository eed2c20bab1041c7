import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Small random programs: threads that take locks of several kinds inside each other. None can hang: locks are taken in the order
 * of their numbers, or in any order with a time after which the thread gives up. For each number it reads, so many programs run at
 * once, which it says, until it reads another line; then it says that they have ended.
 */
public class RandomLocks {
    private static volatile boolean go;

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("waiting");
        int program = 0;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            go = true;
            List<Thread> threads = new ArrayList<>();
            for (int last = program + Integer.parseInt(line.trim()); program < last; program++) {
                threads.addAll(start(new Random(program)));
            }
            System.out.println("running");
            in.readLine();
            go = false;
            for (Thread thread : threads) {
                thread.join();
            }
            System.out.println("ended " + program);
        }
    }

    private static List<Thread> start(Random random) {
        Object[] locks = new Object[2 + random.nextInt(4)];
        for (int i = 0; i < locks.length; i++) {
            switch (random.nextInt(4)) {
                case 0: locks[i] = new ReentrantLock(random.nextBoolean()); break;
                case 1: locks[i] = new ReentrantReadWriteLock().writeLock(); break;
                default: locks[i] = new Object();
            }
        }
        List<Thread> threads = new ArrayList<>();
        for (int i = 2 + random.nextInt(3); i > 0; i--) {
            long seed = random.nextLong();
            Thread thread = new Thread(() -> {
                Random own = new Random(seed);
                do {
                    if (own.nextInt(3) == 0) {
                        anyOrder(locks, own, 3);
                    } else {
                        inOrder(locks, 0, own);
                    }
                } while (go);
            });
            thread.start();
            threads.add(thread);
        }
        return threads;
    }

    private static void inOrder(Object[] locks, int from, Random random) {
        int at = from + random.nextInt(2);
        if (at >= locks.length) {
            LockSupport.parkNanos(random.nextInt(3_000_000));
            return;
        }
        if (locks[at] instanceof Lock) {
            Lock lock = (Lock) locks[at];
            lock.lock();
            try {
                inOrder(locks, at + 1, random);
            } finally {
                lock.unlock();
            }
        } else {
            synchronized (locks[at]) {
                inOrder(locks, at + 1, random);
            }
        }
    }

    /** In any order, but never waiting for ever for one while it has another; nor entering a monitor. */
    private static void anyOrder(Object[] locks, Random random, int more) {
        Object chosen = locks[random.nextInt(locks.length)];
        if (more == 0 || !(chosen instanceof Lock)) {
            LockSupport.parkNanos(random.nextInt(2_000_000));
            return;
        }
        Lock lock = (Lock) chosen;
        try {
            if (lock.tryLock(1 + random.nextInt(10), TimeUnit.MILLISECONDS)) {
                try {
                    anyOrder(locks, random, more - 1);
                } finally {
                    lock.unlock();
                }
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
