//: name = "shares"
//: about = "methods whose shares of the CPU time are in their names"
//: package = "bench"
//: warmup = 2
//: steady = 6
//: jvm = ["-Xms128m", "-Xmx128m"]
package bench;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** Two threads; the methods of each use CPU time in proportion to the numbers in their names. */
public final class Shares {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final long UNIT = 4_000_000;
    private static volatile long sink;

    public static void main(String[] args) throws Exception {
        Bench.run(() -> {
            Thread other = new Thread(Shares::all, "other");
            other.start();
            all();
            other.join();
            return 1;
        });
    }

    private static void all() {
        for (int i = 0; i < 2; i++) {
            share40();
            share30();
            share15();
            share10();
            share5();
        }
    }

    private static void share40() {
        burn(40);
    }

    private static void share30() {
        burn(30);
    }

    private static void share15() {
        burn(15);
    }

    private static void share10() {
        burn(10);
    }

    private static void share5() {
        burn(5);
    }

    private static void burn(int units) {
        long end = THREADS.getCurrentThreadCpuTime() + units * UNIT;
        while (THREADS.getCurrentThreadCpuTime() < end) {
            spin();
        }
    }

    private static void spin() {
        long x = sink | 1;
        for (int i = 0; i < 20_000; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        sink = x;
    }
}
