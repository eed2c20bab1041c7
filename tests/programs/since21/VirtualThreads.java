import java.util.concurrent.CountDownLatch;

/** Virtual threads that come and go. */
public class VirtualThreads {
    static volatile int sink;

    static void work(int n) {
        sink = n;
    }

    static void task(CountDownLatch done) {
        work(1);
        done.countDown();
    }

    public static void main(String[] args) throws Exception {
        int total = Integer.parseInt(args[0]), batch = Integer.parseInt(args[1]);
        for (int i = 0; i < total; i += batch) {
            CountDownLatch done = new CountDownLatch(batch);
            for (int j = 0; j < batch; j++) {
                Thread.startVirtualThread(() -> task(done));
            }
            done.await();
        }
    }
}
