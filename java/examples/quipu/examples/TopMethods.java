package quipu.examples;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.util.AbstractMap;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import quipu.Context;
import quipu.ExactProfiler;
import quipu.MethodId;

/**
 * Prints, again and again, the methods in which a thread has executed most bytecodes since the last time.
 *
 * <pre>
 * quipu run --agent top.jar=quipu.examples.TopMethods -- java -Dtop.bytecodes=50000000 -Dtop.methods=5 ...
 * </pre>
 *
 * Each thread looks at its own tree only, so nothing needs a lock but the output.
 */
public final class TopMethods implements ExactProfiler {
    private final int bytecodes = Integer.getInteger("top.bytecodes", 50_000_000);
    private final int methods = Integer.getInteger("top.methods", 5);
    /** Not System.err: the program may be in the middle of using that. */
    private final PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.err));
    /** What each thread had executed when it was here last. */
    private final ThreadLocal<Map<MethodId, Long>> before = new ThreadLocal<>();

    @Override
    public int register(Thread thread, Context root) {
        before.set(new HashMap<>());
        return bytecodes;
    }

    @Override
    public int processMCT(Context current) {
        Map<MethodId, Long> now = new HashMap<>();
        add(rootOf(current), now);
        Map<MethodId, Long> last = before.get();
        before.set(now);

        List<Map.Entry<MethodId, Long>> spent = new ArrayList<>();
        for (Map.Entry<MethodId, Long> entry : now.entrySet()) {
            long executed = entry.getValue() - last.getOrDefault(entry.getKey(), 0L);
            if (executed > 0) {
                spent.add(new AbstractMap.SimpleEntry<>(entry.getKey(), executed));
            }
        }
        spent.sort((a, b) -> Long.compare(b.getValue(), a.getValue()));
        StringBuilder text = new StringBuilder("top: ").append(Thread.currentThread().getName()).append('\n');
        for (Map.Entry<MethodId, Long> entry : spent.subList(0, Math.min(methods, spent.size()))) {
            MethodId method = entry.getKey();
            text.append(String.format("  %,15d  %s.%s%n", entry.getValue(), method.getClassName(), method.getName()));
        }
        out.print(text);
        return bytecodes;
    }

    private static Context rootOf(Context context) {
        while (!context.isRoot()) {
            context = context.getCaller();
        }
        return context;
    }

    /** Adds what was executed below a context, by method. With a list and not by recursion: trees can be deep. */
    private static void add(Context root, Map<MethodId, Long> sums) {
        List<Context> pending = new ArrayList<>(root.getCallees());
        while (!pending.isEmpty()) {
            Context context = pending.remove(pending.size() - 1);
            sums.merge(context.getMethodId(), context.getInstr(), Long::sum);
            pending.addAll(context.getCallees());
        }
    }
}
