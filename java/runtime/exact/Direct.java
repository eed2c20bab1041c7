package quipu.runtime;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ForceInline;

/**
 * The probes of {@link Probe} for a VM in which every thread has its published slot in a field of its own, because the
 * agent was there when {@code java.lang.Thread} was loaded. No cursor has to be found and kept: to the JIT the current
 * thread is one value throughout a method and all that is inlined into it, so what a caller publishes is forwarded to
 * the callee.
 */
public final class Direct {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long SLOT = Probe.SLOT;

    private Direct() {}

    @ForceInline
    public static long enter(int word) {
        long slot = U.getLong(Thread.currentThread(), SLOT);
        if (U.getInt(null, slot + Layout.SLOT_METHOD) != word) {
            return Probe.miss(slot, word);
        }
        U.putLong(null, slot + Layout.SLOT_CALLS, U.getLong(null, slot + Layout.SLOT_CALLS) + 1);
        return slot;
    }

    @ForceInline
    public static long enterLoading(int word) {
        Cursor cursor = Probe.cursor();
        if (cursor.loads++ != 0) {
            return Probe.enter(U.getLong(Thread.currentThread(), SLOT), word);
        }
        Probe.loadTallied(cursor);
        return Probe.enter(cursor.loading, word);
    }

    @ForceInline
    public static long open(long slot) {
        long node = slot + ((long) U.getInt(null, slot + Layout.SLOT_NODE) << Layout.LINK_SHIFT);
        U.putLong(Thread.currentThread(), SLOT, node + Layout.NODE_SLOTS);
        return node;
    }

    /** The published slot, for methods that are not counted. */
    @ForceInline
    public static long slot() {
        return U.getLong(Thread.currentThread(), SLOT);
    }

    @ForceInline
    public static void load() {
        Cursor cursor = Probe.cursor();
        if (cursor.loads++ == 0) {
            U.putLong(Thread.currentThread(), SLOT, cursor.loading);
            Probe.loadTallied(cursor);
        }
    }

    @ForceInline
    public static void loaded() {
        Probe.cursor().loads--;
    }

    @ForceInline
    public static void hide() {
        U.putLong(Thread.currentThread(), SLOT, Probe.cursor().hidden);
        Probe.hideTallied();
    }

    @ForceInline
    public static void at(long node, int slot) {
        U.putLong(Thread.currentThread(), SLOT, node + (Layout.NODE_SLOTS + slot * Layout.SLOT_SIZE));
    }

    @ForceInline
    public static void at(long node, int slot, long home, int bytecodes) {
        U.putLong(Thread.currentThread(), SLOT, node + (Layout.NODE_SLOTS + slot * Layout.SLOT_SIZE));
        U.putLong(null, home + Layout.SLOT_BYTECODES, U.getLong(null, home + Layout.SLOT_BYTECODES) + bytecodes);
    }

    @ForceInline
    public static void restore(long slot) {
        U.putLong(Thread.currentThread(), SLOT, slot);
    }

    @ForceInline
    public static void leave(long slot, long home, int bytecodes) {
        U.putLong(Thread.currentThread(), SLOT, slot);
        U.putLong(null, home + Layout.SLOT_BYTECODES, U.getLong(null, home + Layout.SLOT_BYTECODES) + bytecodes);
    }
}
