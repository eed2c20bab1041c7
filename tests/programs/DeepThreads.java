/** Many threads that work at the bottom of deep stacks. */
public class DeepThreads {
    static volatile long sink;

    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[0]), depth = Integer.parseInt(arguments[1]);
        long end = System.nanoTime() + Long.parseLong(arguments[2]) * 1_000_000;
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            threads[i] = new Thread(null, () -> down(depth, end), "deep " + i, 16 << 20);
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        System.out.println("done");
    }

    static void down(int left, long end) {
        if (left > 0) {
            down(left - 1, end);
            return;
        }
        long x = 1;
        while (System.nanoTime() < end) {
            for (int i = 0; i < 10_000; i++) x = x * 31 + i;
        }
        sink = x;
    }
}
