package quipu.examples;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import quipu.Context;
import quipu.ExactProfiler;
import quipu.MethodId;

/**
 * Merges the trees of all threads into one and prints it when the program ends.
 *
 * <pre>
 * quipu run --agent merged.jar=quipu.examples.MergedTree -- java -Dmerged.out=tree.txt -Dmerged.percent=1 ...
 * </pre>
 *
 * A line is a context: bytecodes in it and below it, its calls, its method, indented below its caller.
 */
public final class MergedTree implements ExactProfiler {
    /** Threads that follow each other can share a tree, so this is a set. */
    private final Set<Context> roots = Collections.synchronizedSet(new LinkedHashSet<>());
    private final Thread hook = new Thread(this::print, "MergedTree");

    public MergedTree() {
        Runtime.getRuntime().addShutdownHook(hook);
    }

    @Override
    public int register(Thread thread, Context root) {
        if (thread != hook) {
            roots.add(root);
        }
        return Integer.MAX_VALUE;
    }

    @Override
    public int processMCT(Context current) {
        // Everything is in the trees, and they are read at the end.
        return Integer.MAX_VALUE;
    }

    /** A context of the merged tree. */
    private static final class Node {
        final MethodId method;
        final Map<MethodId, Node> callees = new LinkedHashMap<>();
        long calls;
        long self;
        long total;

        Node(MethodId method) {
            this.method = method;
        }
    }

    private void print() {
        Node merged = new Node(null);
        for (Context root : new ArrayList<>(roots)) {
            merge(root, merged);
        }
        sum(merged);
        String file = System.getProperty("merged.out");
        try (FileOutputStream stream =
                file == null ? new FileOutputStream(FileDescriptor.err) : new FileOutputStream(file)) {
            PrintStream out = new PrintStream(stream);
            print(merged, Long.getLong("merged.percent", 1), out);
            out.flush();
        } catch (IOException e) {
            System.err.println("MergedTree: " + e);
        }
    }

    /** Adds a tree. With a stack of its own, since trees can be deeper than a thread's. */
    private static void merge(Context root, Node into) {
        ArrayDeque<Context> contexts = new ArrayDeque<>();
        ArrayDeque<Node> nodes = new ArrayDeque<>();
        contexts.push(root);
        nodes.push(into);
        while (!contexts.isEmpty()) {
            Node caller = nodes.pop();
            for (Context context : contexts.pop().getCallees()) {
                Node node = caller.callees.computeIfAbsent(context.getMethodId(), Node::new);
                node.calls += context.getCalls();
                node.self += context.getInstr();
                contexts.push(context);
                nodes.push(node);
            }
        }
    }

    private static void sum(Node root) {
        // Callers before callees; so, backwards, callees before callers.
        List<Node> order = new ArrayList<>(Collections.singleton(root));
        for (int i = 0; i < order.size(); i++) {
            order.addAll(order.get(i).callees.values());
        }
        for (int i = order.size() - 1; i >= 0; i--) {
            Node node = order.get(i);
            node.total = node.self;
            for (Node callee : node.callees.values()) {
                node.total += callee.total;
            }
        }
    }

    private static void print(Node root, long percent, PrintStream out) {
        ArrayDeque<Node> nodes = new ArrayDeque<>(Collections.singleton(root));
        ArrayDeque<Integer> depths = new ArrayDeque<>(Collections.singleton(0));
        while (!nodes.isEmpty()) {
            Node node = nodes.pop();
            int depth = depths.pop();
            if (node.method != null) {
                String name = node.method.getClassName() + "." + node.method.getName() + node.method.getSig();
                // One column for each level, up to a hundred.
                String indented = String.format("%" + (Math.min(depth - 1, 100) + name.length()) + "s", name);
                out.printf("%15d %12d  %s%n", node.total, node.calls, indented);
            }
            List<Node> callees = new ArrayList<>(node.callees.values());
            callees.sort((a, b) -> Long.compare(a.total, b.total));
            for (Node callee : callees) {
                if (callee.total * 100 >= root.total * percent) {
                    nodes.push(callee);
                    depths.push(depth + 1);
                }
            }
        }
    }
}
