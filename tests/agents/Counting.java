import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import quipu.Context;
import quipu.ExactProfiler;

/** Counts its activations and, with -Dmeasure, the bytecodes its thread executed between them. */
public class Counting implements ExactProfiler {
    private static final int GRANULARITY = Integer.getInteger("granularity", 10_000);
    private static final boolean MEASURES = Boolean.getBoolean("measure");

    private static final class Counts {
        long activations;
        long contexts;
        long executed;
        long most;
    }

    private final Map<String, Counts> threads = Collections.synchronizedMap(new LinkedHashMap<>());
    private final ThreadLocal<Counts> current = new ThreadLocal<>();

    public Counting() {
        Runtime.getRuntime().addShutdownHook(new Thread(this::print, "printer"));
    }

    @Override
    public int register(Thread thread, Context root) {
        if (thread != Thread.currentThread() || !root.isRoot()) {
            throw new IllegalStateException("register(" + thread + ", " + root + ")");
        }
        Counts counts = threads.computeIfAbsent(thread.getName(), name -> new Counts());
        current.set(counts);
        counts.executed = MEASURES ? executed(root) : 0;
        return GRANULARITY;
    }

    @Override
    public int processMCT(Context context) {
        Counts counts = current.get();
        counts.activations++;
        counts.contexts = counts.contexts * 31 + context.getMethodId().hashCode();
        if (MEASURES) {
            Context root = context;
            while (!root.isRoot()) {
                root = root.getCaller();
            }
            long executed = executed(root);
            counts.most = Math.max(counts.most, executed - counts.executed);
            counts.executed = executed;
        }
        return GRANULARITY;
    }

    private static long executed(Context root) {
        long sum = 0;
        List<Context> pending = new ArrayList<>(root.getCallees());
        while (!pending.isEmpty()) {
            Context context = pending.remove(pending.size() - 1);
            sum += context.getInstr();
            pending.addAll(context.getCallees());
        }
        return sum;
    }

    private void print() {
        synchronized (threads) {
            System.err.println("registered: " + threads.size());
            for (Map.Entry<String, Counts> entry : threads.entrySet()) {
                Counts counts = entry.getValue();
                System.err.println("thread " + entry.getKey() + ": " + counts.activations + " activations, most "
                        + counts.most + ", contexts " + Long.toHexString(counts.contexts));
            }
        }
    }
}
