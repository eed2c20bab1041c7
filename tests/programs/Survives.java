import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;

/**
 * Keeps some of what it makes for ever, some until the next round, and most of it not at all; then it has garbage collected. In so many
 * rounds as it is told, in so many threads, or until its input says otherwise; a third argument is the signal that ends it.
 */
public class Survives {
    static final int KEPT = 2_000;
    static final int CACHED = 500;
    static final int GONE = 8_000;

    /** 64 bytes each: 12 of a header, 4 of nothing, six times 8. */
    static class Kept {
        long a, b, c, d, e, f;
    }

    static final class Cached extends Kept {}

    static final class Gone extends Kept {}

    static final List<Kept> LEAK = new ArrayList<>();
    static final Kept[] CACHE = new Kept[CACHED];
    static volatile Object last;

    public static void main(String[] arguments) throws Exception {
        // What is in the buffer that main has from before it was watched is not sampled; a collection takes it away.
        System.gc();
        if (arguments.length == 0) {
            System.out.println("working");
            while (System.in.available() == 0) {
                round();
            }
            System.out.println("done");
            return;
        }
        int rounds = Integer.parseInt(arguments[0]);
        int threads = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 1;
        for (int i = 0; i < rounds; i++) {
            if (threads == 1) {
                round();
                continue;
            }
            List<Thread> all = new ArrayList<>();
            for (int thread = 0; thread < threads; thread++) {
                Thread maker = new Thread(Survives::keep, "maker-" + thread);
                maker.start();
                all.add(maker);
            }
            for (Thread maker : all) {
                maker.join();
            }
            System.gc();
        }
        if (arguments.length > 2) {
            String me = ManagementFactory.getRuntimeMXBean().getName().split("@")[0];
            new ProcessBuilder("kill", "-" + arguments[2], me).start().waitFor();
            Thread.sleep(Long.MAX_VALUE);
        }
    }

    static void round() throws InterruptedException {
        keep();
        cache();
        waste();
        System.gc();
        // Survivors are looked at by a thread that may have to wait for its turn.
        Thread.sleep(30);
    }

    static void keep() {
        Kept[] made = new Kept[KEPT];
        for (int i = 0; i < KEPT; i++) {
            made[i] = new Kept();
        }
        synchronized (LEAK) {
            for (Kept kept : made) {
                LEAK.add(kept);
            }
        }
    }

    static void cache() {
        for (int i = 0; i < CACHED; i++) {
            CACHE[i] = new Cached();
        }
    }

    static void waste() {
        for (int i = 0; i < GONE; i++) {
            last = new Gone();
        }
        last = null;
    }
}
