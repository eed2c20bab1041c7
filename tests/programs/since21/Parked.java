import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Virtual threads that wait until its input ends, as many as it is told. */
public class Parked {
    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[0]);
        CountDownLatch end = new CountDownLatch(1);
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(Thread.ofVirtual().start(() -> await(end)));
        }
        for (Thread thread : all) {
            while (thread.getState() != Thread.State.WAITING) {
                Thread.sleep(1);
            }
        }
        System.out.println("waiting");
        while (System.in.read() >= 0) {
            continue;
        }
        end.countDown();
        for (Thread thread : all) {
            thread.join();
        }
    }

    private static void await(CountDownLatch end) {
        try {
            end.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
