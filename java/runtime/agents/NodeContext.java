package quipu.runtime;

import java.util.Set;
import jdk.internal.misc.Unsafe;
import quipu.Context;
import quipu.MethodId;

/** A node of a thread's tree, as agents see it. */
final class NodeContext implements Context {
    private static final Unsafe U = Unsafe.getUnsafe();

    private final Tree tree;
    /** Its id. */
    final int node;

    NodeContext(Tree tree, int node) {
        this.tree = tree;
        this.node = node;
    }

    private long address() {
        return Probe.address(node);
    }

    /** Id of the method. */
    int method() {
        return U.getInt(address() + Layout.NODE_METHOD) >>> 1;
    }

    @Override
    public boolean isRoot() {
        return U.getInt(address() + Layout.NODE_PARENT) == 0;
    }

    @Override
    public Context getCaller() {
        notAtRoot();
        return new NodeContext(tree, U.getInt(address() + Layout.NODE_PARENT));
    }

    @Override
    public long getCalls() {
        notAtRoot();
        long calls = tree.calls(address());
        // An opaque method is also called by its caller's own calls, which need no count for that.
        int parent = U.getInt(address() + Layout.NODE_PARENT);
        int caller = U.getInt(Probe.address(parent) + Layout.NODE_METHOD) >>> 1;
        if (caller != 0 && Methods.isOpaque(method())) {
            int times = DerivedContext.times(caller, method());
            calls += times == 0 ? 0 : times * tree.calls(Probe.address(parent));
        }
        return calls;
    }

    @Override
    public MethodId getMethodId() {
        notAtRoot();
        return Methods.name(method());
    }

    @Override
    public Set<Context> getCallees() {
        return tree.callees(this);
    }

    @Override
    public long getInstr() {
        notAtRoot();
        long counted = tree.bytecodes(address());
        long perCall = Methods.perCall(method());
        return perCall == 0 ? counted : counted + perCall * tree.calls(address());
    }

    private void notAtRoot() {
        if (isRoot()) {
            throw new IllegalStateException("the root of a tree is no call");
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof NodeContext && ((NodeContext) other).node == node;
    }

    @Override
    public int hashCode() {
        return node;
    }

    @Override
    public String toString() {
        return isRoot() ? "root" : getMethodId().toString();
    }
}
