/**
 * Virtual threads that wait far down in a recursion, so that only their youngest frames are put back on a stack, and work;
 * with a third argument while collections move everything about.
 */
public class DeepVirtual {
    static volatile long sink;

    public static void main(String[] arguments) throws Exception {
        int depth = Integer.parseInt(arguments[0]);
        int rounds = Integer.parseInt(arguments[1]);
        if (arguments.length > 2) {
            Thread.ofPlatform().daemon().start(DeepVirtual::waste);
        }
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = Thread.ofVirtual().name("diver-" + i).start(() -> dive(depth, rounds));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("up again");
    }

    static void waste() {
        byte[][] kept = new byte[64][];
        for (int i = 0; ; i++) {
            kept[i % kept.length] = new byte[16 << 10];
        }
    }

    static long dive(int depth, int rounds) {
        return depth == 0 ? bottom(rounds) : dive(depth - 1, rounds) + 1;
    }

    static long bottom(int rounds) {
        for (int i = 0; i < rounds; i++) {
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            burn();
        }
        return sink;
    }

    static void burn() {
        for (int i = 0; i < 20_000_000; i++) {
            sink += i;
        }
    }
}
