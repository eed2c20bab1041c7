import java.util.ArrayList;
import java.util.List;

/**
 * Something for every kind: it computes, makes objects and keeps some, loads classes, starts threads, and waits for locks. Argument: rounds;
 * without, it goes on until its input has something.
 */
public class Mixed {
    static final Object LOCK = new Object();
    /** What was made last: it is there when the others are collected. */
    static final byte[][] KEPT = new byte[100][];
    static volatile int sink;

    static int compute(int n) {
        int x = n;
        for (int i = 0; i < n; i++) {
            x = x * 31 + (x >>> 7);
        }
        return x;
    }

    static int make(int n) {
        List<String> made = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            made.add("number " + i);
        }
        return made.size();
    }

    static void keep() {
        for (int i = 0; i < KEPT.length; i++) {
            KEPT[i] = new byte[4096];
        }
        System.gc();
    }

    /** The other thread certainly waits: it is seen to. */
    static void contend() throws InterruptedException {
        Thread waiter = new Thread(Mixed::enter, "waiter");
        synchronized (LOCK) {
            waiter.start();
            while (waiter.getState() != Thread.State.BLOCKED) {
                Thread.sleep(1);
            }
            Thread.sleep(2);
        }
        waiter.join();
    }

    static void enter() {
        synchronized (LOCK) {
            sink++;
        }
    }

    static void round() throws InterruptedException {
        for (int j = 0; j < 100; j++) {
            sink += compute(20_000);
        }
        sink += make(2000);
        keep();
        contend();
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 0) {
            System.out.println("working");
            while (System.in.available() == 0) {
                round();
            }
        } else {
            for (int i = Integer.parseInt(arguments[0]); i > 0; i--) {
                round();
            }
        }
        System.out.println("done");
    }
}
