package quipu.runtime;

import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Set;
import quipu.Context;

/**
 * An agent's view of a tree. Nodes in the arena know their parents only; here their children are listed, as far as
 * they were asked for. Safe for use by any thread while the tree's own goes on.
 */
final class Tree extends Chunks {
    /** Entry of each node, plus one, by a hash of its id; a power of two long, never full. */
    private int[] table = new int[256];
    /** By entry: the node's id, its first and last child and its next sibling, as entries; 0 is the first entry. */
    private int[] id = new int[64];
    private int[] first = new int[64];
    private int[] last = new int[64];
    private int[] sibling = new int[64];
    private int count;

    Tree(int tree) {
        super(Layout.CHUNK_NODES, tree);
    }

    @Override
    long read(long node) {
        if (count == id.length) {
            grow();
        }
        int entry = count++;
        id[entry] = Probe.id(node);
        enter(id[entry], entry);
        int parent = U.getInt(node + Layout.NODE_PARENT);
        int above = parent == 0 ? -1 : find(parent);
        if (above >= 0) {
            if (first[above] == 0) {
                first[above] = entry;
            } else {
                sibling[last[above]] = entry;
            }
            last[above] = entry;
        }
        return (long) U.getChar(node + Layout.NODE_STRIDE) << 3;
    }

    private void grow() {
        int size = 2 * count;
        id = Arrays.copyOf(id, size);
        first = Arrays.copyOf(first, size);
        last = Arrays.copyOf(last, size);
        sibling = Arrays.copyOf(sibling, size);
        table = new int[4 * size];
        for (int entry = 0; entry < count; entry++) {
            enter(id[entry], entry);
        }
    }

    private void enter(int node, int entry) {
        int probe = node * 0x9E3779B1 & table.length - 1;
        while (table[probe] != 0) {
            probe = probe + 1 & table.length - 1;
        }
        table[probe] = entry + 1;
    }

    private int find(int node) {
        int probe = node * 0x9E3779B1 & table.length - 1;
        while (table[probe] != 0) {
            int entry = table[probe] - 1;
            if (id[entry] == node) {
                return entry;
            }
            probe = probe + 1 & table.length - 1;
        }
        return -1;
    }

    /** Ids of a node's children, oldest first. */
    synchronized int[] children(int node) {
        follow();
        int entry = find(node);
        int n = 0;
        for (int child = entry < 0 ? 0 : first[entry]; child != 0; child = sibling[child]) {
            n++;
        }
        int[] children = new int[n];
        n = 0;
        for (int child = entry < 0 ? 0 : first[entry]; child != 0; child = sibling[child]) {
            children[n++] = id[child];
        }
        return children;
    }

    /** The contexts called from a node. */
    Set<Context> callees(NodeContext caller) {
        Set<Context> callees = new LinkedHashSet<>();
        for (int child : children(caller.node)) {
            NodeContext callee = new NodeContext(this, child);
            if (callee.getCalls() > 0) {
                callees.add(callee);
            }
        }
        if (!caller.isRoot() && caller.getCalls() > 0) {
            for (int method : Methods.derived(caller.method())) {
                if (!hasNode(callees, method)) {
                    callees.add(new DerivedContext(caller, method));
                }
            }
        }
        return callees;
    }

    private static boolean hasNode(Set<Context> callees, int method) {
        for (Context callee : callees) {
            if (callee instanceof NodeContext && ((NodeContext) callee).method() == method) {
                return true;
            }
        }
        return false;
    }

    /** Calls of a node: those in its header, and those in the slots that hold it. */
    long calls(long node) {
        return sum(node, Layout.NODE_CALLS, Layout.SLOT_CALLS);
    }

    /** What was counted for a node, beyond what follows from its calls. */
    long bytecodes(long node) {
        return sum(node, Layout.NODE_BYTECODES, Layout.SLOT_BYTECODES);
    }

    private long sum(long node, long own, long inSlot) {
        int parent = U.getInt(node + Layout.NODE_PARENT);
        int word = U.getInt(node + Layout.NODE_METHOD);
        long sum = U.getLong(node + own) + sumInSlots(parent, Probe.id(node), word, inSlot);
        if (Probe.folds()) {
            // Below the deepest level a node's siblings call it, too.
            for (int other : children(parent)) {
                sum += sumInSlots(other, Probe.id(node), word, inSlot);
            }
        }
        return sum;
    }

    private static long sumInSlots(int caller, int callee, int word, long field) {
        long node = Probe.address(caller);
        int method = U.getInt(node + Layout.NODE_METHOD);
        int slots = method == Layout.ROOT_WORD ? 1 : U.getInt(Probe.SIZES + 8L * (method >>> 1) + 4);
        long sum = 0;
        long slot = node + Layout.NODE_SLOTS;
        for (int i = 0; i < slots; i++, slot += Layout.SLOT_SIZE) {
            if (Probe.id(Probe.node(slot)) == callee && U.getInt(slot + Layout.SLOT_METHOD) == word) {
                sum += U.getLong(slot + field);
            }
        }
        return sum;
    }
}
