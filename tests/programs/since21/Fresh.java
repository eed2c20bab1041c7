import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Virtual threads without a name that work from their first moment to their last, and are never taken off their carrier: as
 * those are that serve a request. Argument: how many.
 */
public class Fresh {
    static volatile long sink;
    static final Object LOCK = new Object();

    static void serve() {
        burn();
        synchronized (LOCK) {
            burn();
        }
    }

    static void burn() {
        for (int i = 0; i < 2_000_000; i++) {
            sink += i;
        }
    }

    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[0]);
        try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> served = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                served.add(executor.submit(Fresh::serve));
            }
            for (Future<?> one : served) {
                one.get();
            }
        }
        System.out.println("served");
    }
}
