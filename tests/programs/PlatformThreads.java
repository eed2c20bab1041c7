/** Threads that come and go, a few at a time. */
public class PlatformThreads {
    static volatile int sink;

    static void work(int n) {
        sink = n;
    }

    static void task() {
        for (int i = 0; i < 10; i++) {
            work(i);
        }
    }

    public static void main(String[] args) throws Exception {
        int total = Integer.parseInt(args[0]), batch = Integer.parseInt(args[1]);
        for (int done = 0; done < total; done += batch) {
            Thread[] threads = new Thread[batch];
            for (int i = 0; i < batch; i++) {
                threads[i] = new Thread(PlatformThreads::task, "short-" + (done + i));
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
    }
}
