package quipu.runtime;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ForceInline;

/**
 * What methods call that are timed: those below a root, in the contexts below it.
 *
 * <p>Time is told as Dmitriev's JFluid does: it is stopped for the caller, and started for the callee, where a method is
 * entered, and the other way round where it is left. So each context has the time that it took itself, at any moment, and
 * an exit that is missed makes a mistake no longer than until the next look at the clock. It is added up where exact profiles
 * have bytecodes: in the slot through which the method was called, which stays the method's as long as it runs.
 *
 * <p>Whatever may lack stack for a call is done before anything changes: see {@link Probe}.
 */
public final class Timer {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** Whether threads enter roots: not before all is instrumented that earlier profiles have found, nor when one ends. */
    private static boolean open;

    private Timer() {}

    /** Nothing is instrumented any more. What still runs below a root belongs to no profile from now on. */
    static void retire() {
        Cursors.retire();
    }

    /** A profile begins, and nothing is instrumented yet: no thread is in a root in it. */
    static void prepare() {
        Probe.replaceRetired();
    }

    /** From now on threads enter roots, or do no more. */
    static void open(boolean entered) {
        open = entered;
    }

    /** The slot that is published; 0 if the thread is in no root. */
    @ForceInline
    public static long published(Cursor cursor) {
        return cursor.below;
    }

    /** The slot that takes the time. */
    @ForceInline
    public static long running(Cursor cursor) {
        return cursor.running;
    }

    /** Counts the call of a method, if the thread is in a root; returns the slot in which it is counted, or 0. */
    @ForceInline
    public static long enter(Cursor cursor, int word) {
        long below = cursor.below;
        if (below == 0) {
            return 0;
        }
        long slot = Probe.enter(below, word);
        switchTo(cursor, slot);
        return slot;
    }

    /** The same for a root. */
    @ForceInline
    public static long enterRoot(Cursor cursor, int word) {
        return cursor.below != 0 ? enter(cursor, word) : begin(cursor, word);
    }

    /** Counts the call of a method and looks at no clock: where threads are is sampled. Returns the slot as {@link #enter} does. */
    @ForceInline
    public static long pass(Cursor cursor, int word) {
        long below = cursor.below;
        return below == 0 ? 0 : Probe.enter(below, word);
    }

    /** The same for a root. */
    @ForceInline
    public static long passRoot(Cursor cursor, int word) {
        return cursor.below != 0 ? pass(cursor, word) : begin(cursor, word);
    }

    /** A thread comes to a root. */
    private static long begin(Cursor cursor, int word) {
        if (!open || cursor.group == Cursor.UNCOUNTED) {
            return 0;
        }
        try {
            // So that what the root calls is looked at before it runs.
            cursor.below = cursor.start;
            long slot = Probe.enter(cursor.start, word);
            cursor.since = System.nanoTime();
            cursor.running = slot;
            return slot;
        } finally {
            cursor.below = 0;
        }
    }

    /** From here on the time is another slot's. */
    @ForceInline
    private static void switchTo(Cursor cursor, long slot) {
        long now = System.nanoTime();
        long home = cursor.running + Layout.SLOT_BYTECODES;
        U.putLong(home, U.getLong(home) + now - cursor.since);
        cursor.since = now;
        cursor.running = slot;
    }

    /** The node of the method that was entered; until it publishes something else, calls of it come from the VM. */
    @ForceInline
    public static long open(Cursor cursor, long slot) {
        if (slot == 0) {
            return 0;
        }
        long node = Probe.node(slot);
        cursor.below = node + Layout.NODE_SLOTS;
        return node;
    }

    /** Publishes a slot of the current node. */
    @ForceInline
    public static void at(Cursor cursor, long node, int slot) {
        if (node != 0) {
            cursor.below = node + (Layout.NODE_SLOTS + slot * Layout.SLOT_SIZE);
        }
    }

    /** Leaves a method; what its caller had published is published again. */
    @ForceInline
    public static void leave(Cursor cursor, long slot, long outer) {
        if (slot == 0 || cursor.retired) {
            return;
        }
        long now = System.nanoTime();
        long home = slot + Layout.SLOT_BYTECODES;
        U.putLong(home, U.getLong(home) + now - cursor.since);
        cursor.since = now;
        cursor.running = outer;
    }

    /** When a root was entered, by a clock that passes over what is not the program's; 0 if it was not. */
    @ForceInline
    public static long entered(Cursor cursor, long slot) {
        return slot == 0 ? 0 : cursor.since - cursor.skipped;
    }

    /** Leaves a root: it is one more execution that took about as long as some others. */
    public static void leaveRoot(Cursor cursor, long slot, long outer, long node, long entered) {
        if (slot == 0 || cursor.retired) {
            return;
        }
        leave(cursor, slot, outer);
        count(cursor, node, cursor.since - cursor.skipped - entered, 0);
    }

    /** The same where no other probe looks at the clock. */
    public static long enteredNow(Cursor cursor, long slot) {
        return slot == 0 ? 0 : System.nanoTime() - cursor.skipped;
    }

    /** Leaves a root that was entered so. */
    public static void leaveRoot(Cursor cursor, long slot, long node, long entered) {
        if (slot != 0 && !cursor.retired) {
            count(cursor, node, System.nanoTime() - cursor.skipped - entered, 0);
        }
    }

    /** The thread comes to a part of a method, or is in it: since when, by the same clock as a root's; 0 if it is in no root. */
    @ForceInline
    public static long within(Cursor cursor, long node, long since) {
        return node == 0 || since != 0 ? since : System.nanoTime() - cursor.skipped;
    }

    /** The thread is not in a part of a method, in which it has been since then; 0 if it has not. Returns 0. */
    @ForceInline
    public static long outside(Cursor cursor, long node, long since, int region) {
        if (since != 0 && !cursor.retired) {
            count(cursor, node, System.nanoTime() - cursor.skipped - since, region);
        }
        return 0;
    }

    /** Counts an execution of a method or a part of it. A node outside every tree has nothing to tell. */
    private static void count(Cursor cursor, long node, long nanos, int region) {
        if (U.getInt(node + Layout.NODE_METHOD) != 0) {
            int context = (int) ((node + Layout.NODE_SLOTS - Probe.BASE) >>> Layout.LINK_SHIFT);
            int what = Layout.LEDGER_EXECUTIONS | region << Layout.LEDGER_REGION_SHIFT | range(nanos);
            Ledger.add(cursor, Cursor.words(what, context), 1, nanos);
        }
    }

    /** The number of the range that a time is in. */
    private static int range(long nanos) {
        long most = Math.max(nanos, 0);
        int doubled = 0;
        while (most >> doubled >= 2 << Layout.LEDGER_RANGES_SHIFT) {
            doubled++;
        }
        return (doubled << Layout.LEDGER_RANGES_SHIFT) + (int) (most >> doubled);
    }

    /** Counts the call of a method whose time is its caller's. */
    @ForceInline
    public static void count(int word) {
        long below = Probe.cursor().below;
        if (below != 0) {
            Probe.enter(below, word);
        }
    }

    /** A method is about to be called by reflection: the agent is told which. That takes no time of the program's. */
    public static void reflected(Object method) {
        Cursor cursor = Probe.cursor();
        if (cursor.below != 0) {
            long began = System.nanoTime();
            Natives.reflected(method);
            cursor.skip(System.nanoTime() - began);
        }
    }

    /** What is called is not the program's: the thread leaves the root for so long. Returns what is to be published again. */
    public static long aside(Cursor cursor) {
        long below = cursor.below;
        if (below != 0) {
            switchTo(cursor, cursor.running);
            cursor.away = true;
            cursor.below = 0;
        }
        return below;
    }

    /** It is the program's again. */
    public static void back(Cursor cursor, long below) {
        if (below != 0) {
            cursor.skip(System.nanoTime() - cursor.since);
            cursor.away = false;
        }
    }

    /**
     * What measuring takes, in picoseconds: within a method, in its caller, and in the caller of a method that only counts its
     * calls, 21 bits each. Methods without content are entered and left, as in JFluid's calibration.
     */
    static long calibrate(int rounds) {
        Cursor cursor = new Cursor(Probe.NO_THREAD_SINK);
        long memory = U.allocateMemory(1024);
        try {
            U.setMemory(memory, 1024, (byte) 0);
            long caller = memory;
            long callee = memory + 64;
            U.putInt(callee + Layout.SLOT_METHOD, 1);
            Probe.link(callee, memory + 512);
            cursor.running = caller;
            cursor.since = System.nanoTime();
            for (int i = 0; i < rounds; i++) {
                cursor.below = callee;
                if (Probe.cursor() == null) {
                    break;
                }
                long outer = running(cursor);
                long slot = enter(cursor, 1);
                open(cursor, slot);
                leave(cursor, slot, outer);
            }
            long within = U.getLong(callee + Layout.SLOT_BYTECODES);
            long outside = U.getLong(caller + Layout.SLOT_BYTECODES);
            cursor.below = callee;
            long began = System.nanoTime();
            for (int i = 0; i < rounds; i++) {
                if (Probe.cursor() == null) {
                    break;
                }
                Probe.enter(cursor.below, 1);
            }
            long counted = System.nanoTime() - began;
            return picos(within, rounds) << 42 | picos(outside, rounds) << 21 | picos(counted, rounds);
        } finally {
            U.freeMemory(memory);
        }
    }

    private static long picos(long nanos, int rounds) {
        return Math.min(Math.max(nanos, 0) * 1000 / rounds, (1 << 21) - 1);
    }
}
