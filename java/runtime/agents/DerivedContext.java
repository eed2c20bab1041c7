package quipu.runtime;

import java.util.LinkedHashSet;
import java.util.Set;
import quipu.Context;
import quipu.MethodId;

/** An opaque method that every call of its caller calls, so that it needs no node. */
final class DerivedContext implements Context {
    private final NodeContext caller;
    private final int method;

    DerivedContext(NodeContext caller, int method) {
        this.caller = caller;
        this.method = method;
    }

    /** How often each call of a method calls an opaque one. */
    static int times(int caller, int method) {
        int times = 0;
        for (int derived : Methods.derived(caller)) {
            if (derived == method) {
                times++;
            }
        }
        return times;
    }

    @Override
    public boolean isRoot() {
        return false;
    }

    @Override
    public Context getCaller() {
        return caller;
    }

    @Override
    public long getCalls() {
        return times(caller.method(), method) * caller.getCalls();
    }

    @Override
    public MethodId getMethodId() {
        return Methods.name(method);
    }

    @Override
    public Set<Context> getCallees() {
        return new LinkedHashSet<>();
    }

    @Override
    public long getInstr() {
        return 0;
    }

    @Override
    public boolean equals(Object other) {
        if (!(other instanceof DerivedContext)) {
            return false;
        }
        DerivedContext that = (DerivedContext) other;
        return that.method == method && that.caller.equals(caller);
    }

    @Override
    public int hashCode() {
        return caller.hashCode() * 31 + method;
    }

    @Override
    public String toString() {
        return getMethodId().toString();
    }
}
