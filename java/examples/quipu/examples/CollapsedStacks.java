package quipu.examples;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import quipu.MethodId;
import quipu.SamplingProfiler;

/**
 * Counts samples by calling context, over all threads, and writes them when the program ends: a line per context, its
 * methods separated by semicolons and then its samples, as the tools that draw flame graphs read it.
 *
 * <pre>
 * quipu run --bytecodes --agent agents.jar=quipu.examples.CollapsedStacks -- java -Dstacks.out=stacks.txt ...
 * </pre>
 */
public final class CollapsedStacks implements SamplingProfiler {
    private final int bytecodes = Integer.getInteger("stacks.bytecodes", 10_000);
    private final Path out = Paths.get(System.getProperty("stacks.out", "stacks.txt"));
    private final Map<List<MethodId>, LongAdder> samples = new ConcurrentHashMap<>();

    public CollapsedStacks() {
        Runtime.getRuntime().addShutdownHook(new Thread(this::write, "stacks"));
    }

    @Override
    public int register(Thread thread) {
        return bytecodes;
    }

    @Override
    public int processSample(MethodId[] mids, int sp) {
        List<MethodId> stack = new ArrayList<>(sp);
        for (int i = 0; i < sp; i++) {
            stack.add(mids[i]);
        }
        samples.computeIfAbsent(stack, s -> new LongAdder()).increment();
        return bytecodes;
    }

    @Override
    public void detached() {
        write();
    }

    private void write() {
        List<String> lines = new ArrayList<>();
        samples.forEach((stack, count) -> {
            StringBuilder line = new StringBuilder();
            for (MethodId method : stack) {
                line.append(line.length() == 0 ? "" : ";");
                line.append(method.getClassName()).append('.').append(method.getName());
            }
            lines.add(line.append(' ').append(count.sum()).toString());
        });
        lines.sort(null);
        try {
            Files.write(out, lines);
        } catch (IOException e) {
            System.err.println("stacks: cannot write " + out + ": " + e.getMessage());
        }
    }
}
