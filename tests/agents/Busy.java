import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;
import quipu.Context;
import quipu.ExactProfiler;

/** Allocates, takes locks, prints, and calls all kinds of code that the program uses too. */
public class Busy implements ExactProfiler {
    private static final int GRANULARITY = Integer.getInteger("granularity", 1_000);

    private final ReentrantLock lock = new ReentrantLock();
    private final Map<String, Integer> methods = new ConcurrentHashMap<>();
    private final ThreadLocal<List<String>> local = ThreadLocal.withInitial(ArrayList::new);
    private final AtomicLong registered = new AtomicLong();
    private long activations;
    private volatile int sink;

    public Busy() {
        Runtime.getRuntime().addShutdownHook(new Thread(this::print, "printer"));
    }

    private void print() {
        System.err.println("registered: " + registered);
        System.err.println("busy: " + (activations > 0 && !methods.isEmpty()));
    }

    @Override
    public int register(Thread thread, Context root) {
        registered.incrementAndGet();
        return GRANULARITY;
    }

    @Override
    public int processMCT(Context current) {
        String text = String.format("%s %d", current.getMethodId(), current.getCalls());
        methods.merge(text, 1, Integer::sum);
        List<String> texts = local.get();
        texts.add(text);
        if (texts.size() > 100) {
            texts.clear();
        }
        Map<Integer, String> map = new HashMap<>();
        IntStream.range(0, 20).forEach(i -> map.put(i, text));
        sink = map.size() + text.split("[ .]+").length + new byte[5_000].length;
        lock.lock();
        try {
            activations++;
            System.err.print("");
        } finally {
            lock.unlock();
        }
        return GRANULARITY;
    }
}
