import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;

/**
 * Threads that are stopped from outside, at any instruction, in code that opens new calling contexts all the time, beside
 * threads that do a known number of things. Arguments: threads to stop, steps of each of the others.
 */
public class Stopped {
    static final int STEADY = 4;
    static volatile int sink;

    static void left(int n, int seed) {
        sink = n;
        if (n > 0) {
            turn(n - 1, seed);
        }
    }

    static void right(int n, int seed) {
        sink = -n;
        if (n > 0) {
            turn(n - 1, seed);
        }
    }

    static void turn(int n, int seed) {
        if ((seed >>> n & 1) == 0) {
            left(n, seed);
        } else {
            right(n, seed);
        }
    }

    static void wander(CountDownLatch wanders) {
        wanders.countDown();
        for (int seed = 0; ; seed++) {
            turn(24, seed * 0x9E3779B1);
        }
    }

    static void steady(int steps) {
        for (int i = 0; i < steps; i++) {
            step(i);
        }
    }

    static void step(int n) {
        sink = n;
    }

    static Thread[] startSteady(String name, int steps) {
        Thread[] threads = new Thread[STEADY];
        for (int i = 0; i < STEADY; i++) {
            threads[i] = new Thread(() -> steady(steps), name);
            threads[i].start();
        }
        return threads;
    }

    public static void main(String[] args) throws Exception {
        int victims = Integer.parseInt(args[0]);
        int steps = Integer.parseInt(args[1]);
        // Not by name: newer JDKs do not have it.
        Method stop = Thread.class.getMethod("stop");
        Thread[] steady = startSteady("steady", steps);
        int stopped = 0;
        for (int i = 0; i < victims; i++) {
            CountDownLatch wanders = new CountDownLatch(1);
            Thread victim = new Thread(() -> wander(wanders), "victim");
            victim.setUncaughtExceptionHandler((thread, error) -> {});
            victim.setDaemon(true);
            victim.start();
            wanders.await();
            try {
                stop.invoke(victim);
            } catch (InvocationTargetException refused) {
                System.out.println("refused: " + refused.getCause());
                return;
            }
            victim.join();
            stopped++;
        }
        for (Thread thread : steady) {
            thread.join();
        }
        for (Thread thread : startSteady("later", steps)) {
            thread.join();
        }
        System.out.println(stopped + " stopped");
    }
}
