/** 64 threads, each 200 frames deep, each with 6,000 calls of one method, all at once. */
public class ManyThreads {
    static volatile int sink;

    static void work(int n) {
        sink = n;
    }

    static void descend(int depth, int calls) {
        if (depth > 1) {
            descend(depth - 1, calls);
        } else {
            for (int i = 0; i < calls; i++) {
                work(i);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]), depth = Integer.parseInt(args[1]), calls = Integer.parseInt(args[2]);
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            threads[i] = new Thread(() -> descend(depth, calls), "worker-" + i);
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
