package quipu.runtime;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * What rewritten code calls. A caller publishes, in its thread's {@link Cursor}, the address of the slot that belongs
 * to the call it is about to make; the callee finds its node there, counts, and puts the slot back when it leaves.
 * {@code Direct} has the same probes for threads that have the published slot in a field of their own.
 *
 * <p>Each frame keeps its node and its slot in local variables, so a frame that is not instrumented (native code, a
 * lambda form) is simply passed through, and a mistake cannot travel up the stack.
 *
 * <p>Until the JIT has come to it, and for the JIT when it does, each call in a probe costs more than what it does. So the probes that
 * methods call again and again call nothing but {@code Unsafe}, and that by its native methods: those with one argument less call these.
 *
 * <p>Nothing here calls instrumented code or allocates on the way that is taken often, and nothing takes a lock: the
 * program may run out of stack inside a probe, or be stopped by another thread, and a lock would stay locked for ever.
 * So whatever is changed is changed by one store, or in an order in which every state makes sense.
 */
public final class Probe {
    private static final Unsafe U = Unsafe.getUnsafe();

    static final long BASE = Natives.base();
    static final long SIZES = Natives.sizes();
    /** Takes calls whose context does not fit into the arena. */
    static final long SINK = sink();
    /** Whether two call sites of one method are two contexts. */
    static boolean sites = Natives.sites();
    /** The deepest level; below it contexts are folded. */
    static int maxDepth = Natives.maxDepth();

    /** Whether threads have the published slot in a field of their own, and where. */
    static final boolean DIRECT = Natives.direct();
    static final long SLOT = DIRECT ? Natives.offset(Thread.class, "quipuSlot") : 0;

    private static final long TID = Natives.offset(Thread.class, "tid");
    /** Bytecodes a loop may keep to itself before it adds them to its node. */
    private static final int FLUSH = 1 << 20;

    /**
     * Cursors that were asked for last, by thread id: a copy of some of what {@link Cursors} knows, which says by itself
     * whether it is the right one. A constant array, so that the JIT knows where it is.
     */
    private static final Cursor[] TABLE = new Cursor[1 << 16];

    /** For threads that have no identity yet, or none any more. */
    static final long NO_THREAD_SINK = sink();
    private static final Cursor NOWHERE = new Cursor(NO_THREAD_SINK);

    /** Ids of the threads that ended last, by bucket. A virtual thread still runs code of the JDK after its end. */
    private static final long ENDED = U.allocateMemory(8 << 16);

    private static final long NEW_THREAD = BASE + Layout.HEADER_NEW_THREAD;

    static {
        U.setMemory(ENDED, 8 << 16, (byte) 0);
        Cursors.prepare();
    }

    private Probe() {}

    /** A node outside every tree, with as many slots as any method may use, all of them empty. */
    private static long sink() {
        long node = Natives.sink();
        long slot = node + Layout.NODE_SLOTS;
        for (int i = 0; i < Layout.MAX_SLOTS; i++, slot += Layout.SLOT_SIZE) {
            link(slot, node);
        }
        return node;
    }

    /** The current thread's cursor. */
    @ForceInline
    public static Cursor cursor() {
        Thread thread = Thread.currentThread();
        Cursor cursor = TABLE[(int) U.getLong(thread, TID) & 0xFFFF];
        return cursor != null && cursor.owner == thread ? cursor : find(thread);
    }

    /** Counts a call of a method through a slot; returns the slot in which the method is counted. */
    @ForceInline
    static long enter(long slot, int word) {
        if (U.getInt(null, slot + Layout.SLOT_METHOD) != word) {
            return miss(slot, word);
        }
        U.putLong(null, slot + Layout.SLOT_CALLS, U.getLong(null, slot + Layout.SLOT_CALLS) + 1);
        return slot;
    }

    /** Enters a method; returns the slot in which it is counted. */
    @ForceInline
    public static long enter(Cursor cursor, int word) {
        long slot = cursor.slot;
        if (U.getInt(null, slot + Layout.SLOT_METHOD) != word) {
            return miss(slot, word);
        }
        U.putLong(null, slot + Layout.SLOT_CALLS, U.getLong(null, slot + Layout.SLOT_CALLS) + 1);
        return slot;
    }

    /** Enters a method that calls nothing and cannot throw: it has no need of a cursor. */
    @ForceInline
    public static long enter(int word) {
        return enter(cursor().slot, word);
    }

    /** Enters a method that loads classes, below a root of its own unless it is there already. */
    @ForceInline
    public static long enterLoading(Cursor cursor, int word) {
        if (cursor.loads++ != 0) {
            return enter(cursor.slot, word);
        }
        loadTallied(cursor);
        return enter(cursor.loading, word);
    }

    /** The node of the method that was entered; until it publishes something else, calls of it come from the VM. */
    @ForceInline
    public static long open(Cursor cursor, long slot) {
        long node = slot + ((long) U.getInt(null, slot + Layout.SLOT_NODE) << Layout.LINK_SHIFT);
        cursor.slot = node + Layout.NODE_SLOTS;
        return node;
    }

    /** The node that a slot holds. */
    @ForceInline
    public static long node(long slot) {
        return slot + ((long) U.getInt(null, slot + Layout.SLOT_NODE) << Layout.LINK_SHIFT);
    }

    /** Puts a node into a slot. */
    static void link(long slot, long node) {
        U.putInt(null, slot + Layout.SLOT_NODE, distance(slot, node));
    }

    /** How far a node is from a slot, as slots have it. */
    private static int distance(long slot, long node) {
        return (int) ((node - slot) >> Layout.LINK_SHIFT);
    }

    /** From here on, what is called is part of class loading. */
    @ForceInline
    public static void load(Cursor cursor) {
        if (cursor.loads++ == 0) {
            cursor.slot = cursor.loading;
            loadTallied(cursor);
        }
    }

    /** The same for methods that have no context. */
    @ForceInline
    static void loadTallied(Cursor cursor) {
        if (Tally.unread != 0) {
            Tally.restore(cursor.loadingTally());
        }
    }

    /** Undoes {@link #load} or {@link #enterLoading}. */
    @ForceInline
    public static void loaded(Cursor cursor) {
        cursor.loads--;
    }

    /** From here on, what is called is not counted. */
    @ForceInline
    public static void hide(Cursor cursor) {
        cursor.slot = cursor.hidden;
        hideTallied();
    }

    /** The same for methods that have no context. */
    @ForceInline
    static void hideTallied() {
        if (Tally.unread != 0) {
            Tally.restore(Tally.unread);
        }
    }

    /** Publishes a slot of the current node. */
    @ForceInline
    public static void at(Cursor cursor, long node, int slot) {
        cursor.slot = node + (Layout.NODE_SLOTS + slot * Layout.SLOT_SIZE);
    }

    /**
     * The same, and adds the bytecodes that the method has executed. That is the last thing that is done, so that what is thrown for
     * lack of stack is thrown before it: whoever catches it adds them.
     */
    @ForceInline
    public static void at(Cursor cursor, long node, int slot, long home, int bytecodes) {
        cursor.slot = node + (Layout.NODE_SLOTS + slot * Layout.SLOT_SIZE);
        U.putLong(null, home + Layout.SLOT_BYTECODES, U.getLong(null, home + Layout.SLOT_BYTECODES) + bytecodes);
    }

    /** Puts back what the caller published. */
    @ForceInline
    public static void restore(Cursor cursor, long slot) {
        cursor.slot = slot;
    }

    /** The same, and adds the bytecodes that the method has executed, in the same order. */
    @ForceInline
    public static void leave(Cursor cursor, long slot, long home, int bytecodes) {
        cursor.slot = slot;
        U.putLong(null, home + Layout.SLOT_BYTECODES, U.getLong(null, home + Layout.SLOT_BYTECODES) + bytecodes);
    }

    /** Adds executed bytecodes to a slot or a node: they have them at the same place. */
    @ForceInline
    public static void count(long home, int bytecodes) {
        U.putLong(null, home + Layout.SLOT_BYTECODES, U.getLong(null, home + Layout.SLOT_BYTECODES) + bytecodes);
    }

    /** At the head of a loop: keeps the method's own counter far from overflowing. */
    @ForceInline
    public static int loop(long home, int bytecodes) {
        if (bytecodes < FLUSH) {
            return bytecodes;
        }
        count(home, bytecodes);
        return 0;
    }

    /** Counts a call of an opaque method, which cannot count itself, in the slot that its caller has for that. */
    @ForceInline
    public static void leaf(long node, int slot) {
        long calls = node + (Layout.NODE_SLOTS + Layout.SLOT_CALLS + slot * Layout.SLOT_SIZE);
        U.putLong(null, calls, U.getLong(null, calls) + 1);
    }

    /** The same, in a context of its own. */
    @ForceInline
    public static void opaque(long node, int slot, int word) {
        enter(node + (Layout.NODE_SLOTS + slot * Layout.SLOT_SIZE), word);
    }

    /** What a slot looks like before a call. */
    @ForceInline
    public static long seen(long node, int slot) {
        long at = node + (Layout.NODE_SLOTS + slot * Layout.SLOT_SIZE);
        return (long) U.getInt(null, at + Layout.SLOT_NODE) << 32 | U.getInt(null, at + Layout.SLOT_CALLS) & 0xFFFFFFFFL;
    }

    /** After a call: if no method has counted itself, the callee was the opaque method that it might be. */
    @ForceInline
    public static void unlessCounted(long node, long seen, int slot, int leaf) {
        if (seen(node, slot) == seen) {
            leaf(node, leaf);
        }
    }

    /** The same, in a context of its own. */
    @ForceInline
    public static void possible(long node, long seen, int slot, int leaf, int word) {
        if (seen(node, slot) == seen) {
            opaque(node, leaf, word);
        }
    }

    /** Counts one execution of a block; the counters lie behind the slots. */
    @ForceInline
    public static void block(long node, int slots, int block) {
        if (U.getInt(null, node + Layout.NODE_METHOD) == 0) {
            // A node outside every tree has slots for all methods and counters for none.
            return;
        }
        long counter = node + (Layout.NODE_SLOTS + slots * Layout.SLOT_SIZE + 8 * block);
        U.putLong(null, counter, U.getLong(null, counter) + 1);
    }

    @ForceInline
    static long address(int id) {
        return BASE + ((id & 0xFFFFFFFFL) << Layout.ID_SHIFT);
    }

    static int id(long node) {
        return (int) ((node - BASE) >>> Layout.ID_SHIFT);
    }

    /** The slot holds another method's node, or none yet: finds the right one, puts it there and counts the call. */
    @DontInline
    static long miss(long slot, int word) {
        Cursor cursor = cursor();
        if (slot == NEW_THREAD) {
            return enter(cursor.start, word);
        }
        long held = node(slot);
        boolean empty = U.getInt(slot + Layout.SLOT_METHOD) == 0;
        int parent = empty ? id(held) : U.getInt(held + Layout.NODE_PARENT);
        long owner = address(parent);
        if (owner == NO_THREAD_SINK) {
            return NO_THREAD_SINK + Layout.NODE_SLOTS;
        }
        if (owner == SINK) {
            return refuse();
        }
        int site = (int) ((slot - owner - Layout.NODE_SLOTS) / Layout.SLOT_SIZE);
        if ((U.getInt(owner + Layout.NODE_DEPTH) & ~Layout.HIDDEN) > maxDepth) {
            // Below the deepest level all methods are children of that level's context.
            parent = U.getInt(owner + Layout.NODE_PARENT);
            site = 0;
        }
        long node = cursor.child(parent, word, sites ? site : 0, site);
        if (node == 0) {
            return refuse();
        }
        if (!empty) {
            move(slot, held, Layout.SLOT_CALLS, Layout.NODE_CALLS);
            move(slot, held, Layout.SLOT_BYTECODES, Layout.NODE_BYTECODES);
        }
        // The method and its node in one store: whatever is thrown in between, they belong together.
        U.putLong(slot + Layout.SLOT_METHOD, Cursor.words(word, distance(slot, node)));
        U.putLong(slot + Layout.SLOT_CALLS, 1);
        return slot;
    }

    /**
     * Moves a count from a slot to the node it was for. To the interpreter each of these stores is a call, for which the
     * stack may be too short: the first one, which changes nothing, finds that out before there is something to undo.
     */
    private static void move(long slot, long node, long from, long to) {
        U.putLong(slot + from, U.getLong(slot + from));
        long count = U.getLong(slot + from);
        long sum = U.getLong(node + to) + count;
        U.putLong(node + to, sum);
        U.putLong(slot + from, 0L);
    }

    private static long refuse() {
        U.getAndAddLong(null, BASE + Layout.HEADER_REFUSED, 1);
        return SINK + Layout.NODE_SLOTS;
    }

    @DontInline
    static Cursor find(Thread thread) {
        long tid = U.getLong(thread, TID);
        if (tid == 0) {
            // Still being constructed, by native code that attaches itself to the VM.
            return NOWHERE;
        }
        Cursor cursor = Cursors.of(thread, tid);
        if (cursor == null) {
            cursor = begin(thread, tid);
        }
        if (cursor != NOWHERE) {
            TABLE[(int) tid & 0xFFFF] = cursor;
        }
        return cursor;
    }

    /** A thread is met for the first time. Whatever is thrown here leaves everything as it was, or a tree unused. */
    private static Cursor begin(Thread thread, long tid) {
        if (U.getLong(ENDED + 8L * (tid & 0xFFFF)) == tid) {
            return NOWHERE;
        }
        Cursor cursor;
        try {
            int group = Natives.group(thread);
            if (group == Cursor.UNCOUNTED) {
                // Found again by the probe like any other: all of its slots lead nowhere.
                cursor = new Cursor(NO_THREAD_SINK);
            } else if (group < 0) {
                return NOWHERE;
            } else {
                cursor = Cursors.takeWaiting(group);
                if (cursor == null) {
                    cursor = Cursor.open(group);
                }
            }
            cursor.owner = thread;
            Cursors.add(cursor, tid);
        } catch (OutOfMemoryError full) {
            return NOWHERE;
        }
        if (cursor.lacksTally()) {
            cursor.openTally();
        }
        return cursor;
    }

    /** Gives every thread that is known its tally. */
    static void tallyAll() {
        NOWHERE.openTally();
        Cursors.tallyAll();
    }

    /** What a thread has published that waits; 0 if it has no cursor. */
    static long slotOf(Thread thread) {
        Cursor cursor = Cursors.of(thread, U.getLong(thread, TID));
        return cursor == null ? 0 : cursor.slot;
    }

    /** The same of a thread that is below a root. */
    static long belowOf(Thread thread) {
        Cursor cursor = Cursors.of(thread, U.getLong(thread, TID));
        return cursor == null ? 0 : cursor.below;
    }

    /** What the current thread has published. */
    static long published(Cursor cursor) {
        return DIRECT ? U.getLong(Thread.currentThread(), SLOT) : cursor.slot;
    }

    /** Publishes a slot, whatever way the current thread has for that. */
    static void publish(Cursor cursor, long slot) {
        if (DIRECT) {
            U.putLong(Thread.currentThread(), SLOT, slot);
        } else {
            cursor.slot = slot;
        }
    }

    /** What the current thread, which runs no instrumented code, does meanwhile is not the program's. */
    static void aside(boolean begin) {
        Cursor cursor = cursor();
        publish(cursor, begin ? cursor.hidden : cursor.start);
        if (Tally.unread != 0) {
            Tally.restore(begin ? Tally.unread : cursor.ownTally());
        }
        cursor.held = begin ? 1 : 0;
        cursor.left = 0;
    }

    /** A folded context can be on the stack many times; its slots change hands while it is there. */
    static boolean folds() {
        return maxDepth != Integer.MAX_VALUE;
    }

    /** A profile begins in which contexts and threads are told apart as before: threads keep their trees. */
    static void goOn() {
        replaceRetired();
        Cursors.goOn();
    }

    /** A profile begins: what still runs of code that was instrumented for an earlier one is not part of it. */
    static void replaceRetired() {
        Cursors.retire();
        Cursors.replaceRetired();
        for (int i = 0; i < TABLE.length; i++) {
            Cursor cursor = TABLE[i];
            if (cursor != null && cursor.retired) {
                TABLE[i] = null;
            }
        }
    }

    /** Whether a thread has a cursor that is not retired. */
    static boolean hasCursor(Thread thread) {
        return Cursors.of(thread, U.getLong(thread, TID)) != null;
    }

    /** A thread gets another cursor beside one that is retired. Without room for it, it gets one when it is met. */
    static void replace(Cursor retired, Thread thread) {
        try {
            long tid = U.getLong(thread, TID);
            Cursor cursor = Cursors.takeWaiting(retired.group);
            if (cursor == null) {
                cursor = Cursor.open(retired.group);
            }
            cursor.owner = thread;
            Cursors.add(cursor, tid);
            if (cursor.lacksTally()) {
                cursor.openTally();
            }
            renew(thread);
            if (U.getLong(ENDED + 8L * (tid & 0xFFFF)) == tid) {
                end(thread);
            }
        } catch (OutOfMemoryError full) {
            // The next code of ours that it comes to asks again.
        }
    }

    /**
     * A profile begins in which contexts or threads are told apart in another way than before: all threads get new trees.
     * Nothing is instrumented now. Code that was, and still runs, goes on in the old trees.
     */
    static void renew() {
        sites = Natives.sites();
        maxDepth = Natives.maxDepth();
        Cursors.clear();
        for (int i = 0; i < TABLE.length; i++) {
            TABLE[i] = null;
        }
    }

    /** After that, for each thread that is known: what it calls next belongs to its new tree. */
    static void renew(Thread thread) {
        if (DIRECT) {
            U.putLong(thread, SLOT, NEW_THREAD);
        }
    }

    /** The thread has ended; its tree waits for the next thread of the group. */
    static void end(Thread thread) {
        long tid = U.getLong(thread, TID);
        U.putLong(ENDED + 8L * (tid & 0xFFFF), tid);
        try {
            Cursor cursor;
            while ((cursor = Cursors.remove(thread, tid)) != null) {
                if (cursor.group == Cursor.UNCOUNTED) {
                    continue;
                }
                if (DIRECT) {
                    U.putLong(thread, SLOT, NO_THREAD_SINK + Layout.NODE_SLOTS);
                }
                Tally.end(thread);
                if (cursor.stack != null) {
                    Sampler.end(thread, cursor.stack);
                }
                cursor.rewind();
                Cursors.wait(cursor);
            }
        } catch (OutOfMemoryError full) {
            // The tree is not used again.
        }
    }
}
