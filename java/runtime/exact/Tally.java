package quipu.runtime;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ForceInline;

/**
 * The probes of methods that have no context. Each thread has a tally: calls and bytecodes of every method, by method
 * id. There is nothing to find and nothing to put back, so such a method costs an addition, and a block another one.
 *
 * <p>What an opaque method calls goes to a tally that is never read, and what loads classes to another one of the
 * thread's, so the current tally is published like a slot: in a field of the thread, or in its cursor.
 *
 * <p>Where the application's methods have contexts, others charge what they execute to the slot that was published
 * last: to its neighbour, which is never called through.
 */
public final class Tally {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long FIELD =
            Probe.DIRECT && Natives.tallies() ? Natives.offset(Thread.class, "quipuTally") : 0;

    /** Takes what is not to be counted. 0 while nothing has a tally. */
    static long unread;

    private Tally() {}

    /** The thread's current tally. */
    @ForceInline
    public static long current() {
        return Probe.DIRECT ? U.getLong(Thread.currentThread(), FIELD) : Probe.cursor().tally;
    }

    /** Makes a tally the thread's current one. */
    @ForceInline
    public static void restore(long tally) {
        if (Probe.DIRECT) {
            U.putLong(Thread.currentThread(), FIELD, tally);
        } else {
            Probe.cursor().tally = tally;
        }
    }

    /** Counts a call of a method. */
    @ForceInline
    public static void call(int cell) {
        long at = (Probe.DIRECT ? U.getLong(Thread.currentThread(), FIELD) : Probe.cursor().tally) + cell;
        U.putLong(null, at, U.getLong(null, at) + 1);
    }

    /** The same, and charges what the method executes. */
    @ForceInline
    public static void call(int cell, int bytecodes) {
        long at = (Probe.DIRECT ? U.getLong(Thread.currentThread(), FIELD) : Probe.cursor().tally) + cell;
        U.putLong(null, at, U.getLong(null, at) + 1);
        long payer = (Probe.DIRECT ? U.getLong(Thread.currentThread(), Probe.SLOT) : Probe.cursor().slot) + Layout.SLOT_SIZE;
        U.putLong(null, payer + Layout.SLOT_BYTECODES, U.getLong(null, payer + Layout.SLOT_BYTECODES) + bytecodes);
    }

    /** Counts a call of a method; returns where its bytecodes are counted, as {@link Probe#count} wants it. */
    @ForceInline
    public static long enter(int cell) {
        long at = (Probe.DIRECT ? U.getLong(Thread.currentThread(), FIELD) : Probe.cursor().tally) + cell;
        U.putLong(null, at, U.getLong(null, at) + 1);
        return at - Layout.SLOT_CALLS;
    }

    /** Where bytecodes are charged, as {@link Probe#count} wants it. */
    @ForceInline
    public static long payer() {
        return (Probe.DIRECT ? U.getLong(Thread.currentThread(), Probe.SLOT) : Probe.cursor().slot) + Layout.SLOT_SIZE;
    }

    /** Counts and charges bytecodes. */
    @ForceInline
    public static void count(long home, long payer, int bytecodes) {
        U.putLong(null, home + Layout.SLOT_BYTECODES, U.getLong(null, home + Layout.SLOT_BYTECODES) + bytecodes);
        U.putLong(null, payer + Layout.SLOT_BYTECODES, U.getLong(null, payer + Layout.SLOT_BYTECODES) + bytecodes);
    }

    /** {@link Probe#loop} for bytecodes that are charged, too. */
    @ForceInline
    public static int loop(long home, long payer, int bytecodes) {
        int left = Probe.loop(home, bytecodes);
        if (left != bytecodes) {
            Probe.count(payer, bytecodes);
        }
        return left;
    }

    /** A method that overrides an opaque one returns. */
    @ForceInline
    public static void mark() {
        U.putLong(null, current() + Layout.TALLY_MARK, 1);
    }

    /** Before a call that may lead to an opaque method. */
    @ForceInline
    public static void unmark() {
        U.putLong(null, current() + Layout.TALLY_MARK, 0);
    }

    /** After it: if no method left a mark, it was the opaque method. */
    @ForceInline
    public static void unlessMarked(int cell) {
        long tally = current();
        if (U.getLong(null, tally + Layout.TALLY_MARK) == 0) {
            U.putLong(null, tally + cell, U.getLong(null, tally + cell) + 1);
        }
    }

    /** The same where the caller has a context. */
    @ForceInline
    public static void unlessMarked(long node, int leaf) {
        if (U.getLong(null, current() + Layout.TALLY_MARK) == 0) {
            Probe.leaf(node, leaf);
        }
    }

    /** From now on threads have tallies; false if there is no room for any. */
    static boolean begin() {
        long tally = Natives.unreadTally();
        if (tally != 0 && unread == 0) {
            unread = tally;
            Probe.tallyAll();
        }
        return tally != 0;
    }

    /** A thread begins to run, or runs already. */
    static void start(Thread thread) {
        Cursor cursor = Probe.find(thread);
        if (Probe.DIRECT) {
            U.putLong(thread, FIELD, cursor.tally);
            U.putLong(thread, Probe.SLOT, cursor.start);
        }
    }

    /** A thread has ended. */
    static void end(Thread thread) {
        if (FIELD != 0) {
            U.putLong(thread, FIELD, unread);
        }
    }
}
