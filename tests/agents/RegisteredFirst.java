import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import quipu.MethodId;
import quipu.SamplingProfiler;

/** Tells at the end how many threads with short lives it was told of, and how many of them it was not told of in time. */
public class RegisteredFirst implements SamplingProfiler {
    private final Set<Thread> registered = ConcurrentHashMap.newKeySet();
    private final AtomicInteger strangers = new AtomicInteger();

    public RegisteredFirst() {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            long threads = registered.stream().filter(RegisteredFirst::isShort).count();
            System.err.println("short threads: " + threads + " registered, " + strangers + " sampled before");
        }));
    }

    private static boolean isShort(Thread thread) {
        return thread.getName().startsWith("short-");
    }

    @Override
    public int register(Thread thread) {
        registered.add(thread);
        return 50;
    }

    @Override
    public int processSample(MethodId[] mids, int sp) {
        if (!registered.contains(Thread.currentThread())) {
            strangers.incrementAndGet();
        }
        return 50;
    }
}
