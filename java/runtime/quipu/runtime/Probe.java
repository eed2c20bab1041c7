package quipu.runtime;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * What rewritten code calls. A caller publishes, in its thread's {@link Cursor}, the address of the slot that belongs
 * to the call it is about to make; the callee finds its node there, counts, and puts the slot back when it leaves.
 *
 * <p>Each frame keeps its node and its slot in local variables, so a frame that is not instrumented (native code, a
 * lambda form) is simply passed through, and a mistake cannot travel up the stack.
 *
 * <p>Nothing here calls instrumented code, allocates on the way that is taken often, or takes a lock there.
 */
public final class Probe {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** Owners of slots that belong to no tree: ids inside the arena's header, which no node has. */
    private static final int FULL = 0, NO_THREAD = 2;

    static final long BASE = Natives.base();
    static final long SIZES = Natives.sizes();
    /** Takes calls whose context does not fit into the arena. */
    static final long SINK = Natives.sink(FULL);
    static final boolean SITES = Natives.sites();
    private static final int MAX_DEPTH = Natives.maxDepth();
    /** A folded context can be on the stack many times, so its sum cannot be kept in a local variable. */
    static final boolean FOLDS = MAX_DEPTH != Integer.MAX_VALUE;

    private static final long TID = U.objectFieldOffset(Thread.class, "tid");
    /** Bytecodes a loop may keep to itself before it adds them to its node. */
    private static final int FLUSH = 1 << 20;

    /** Live cursors by thread id: buckets that are chains. A constant array, so that the JIT knows where it is. */
    private static final Cursor[] TABLE = new Cursor[1 << 16];

    /** For threads that have no identity yet. */
    private static final long NO_THREAD_SINK = Natives.sink(NO_THREAD);
    private static final Cursor NOWHERE = new Cursor(NO_THREAD_SINK);
    /** Cursors whose thread has ended, by group. */
    private static Cursor[] pools = new Cursor[64];

    private static final long LOCK = U.allocateMemory(8);

    /** Ids of the threads that ended last, by bucket. A virtual thread still runs code of the JDK after its end. */
    private static final long ENDED = U.allocateMemory(8 << 16);

    static {
        U.putLong(LOCK, 0);
        U.setMemory(ENDED, 8 << 16, (byte) 0);
    }

    private Probe() {}

    /** The current thread's cursor. */
    @ForceInline
    public static Cursor cursor() {
        Thread thread = Thread.currentThread();
        Cursor cursor = TABLE[(int) U.getLong(thread, TID) & 0xFFFF];
        return cursor != null && cursor.owner == thread ? cursor : find(thread);
    }

    /** Enters the method whose caller published {@code slot}; returns its node. */
    @ForceInline
    private static long enter(long slot, int word) {
        if (U.getInt(slot + Layout.SLOT_METHOD) != word) {
            return miss(slot, word);
        }
        U.putLong(slot + Layout.SLOT_CALLS, U.getLong(slot + Layout.SLOT_CALLS) + 1);
        return address(U.getInt(slot + Layout.SLOT_NODE));
    }

    /** Enters a method that calls nothing and cannot throw: it has no need of a cursor. */
    @ForceInline
    public static long leaf(int word) {
        return enter(cursor().slot, word);
    }

    /** Enters a method; until it publishes something else, calls of it come from the VM. */
    @ForceInline
    public static long enter(Cursor cursor, int word) {
        long node = enter(cursor.slot, word);
        cursor.slot = node + Layout.NODE_SLOTS;
        return node;
    }

    /** Enters a method that loads classes, below a root of its own unless it is there already. */
    @ForceInline
    public static long enterLoading(Cursor cursor, int word) {
        long node = enter(cursor.loads++ == 0 ? cursor.loading : cursor.slot, word);
        cursor.slot = node + Layout.NODE_SLOTS;
        return node;
    }

    /** From here on, what is called is part of class loading. */
    @ForceInline
    public static void load(Cursor cursor) {
        if (cursor.loads++ == 0) {
            cursor.slot = cursor.loading;
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
    }

    /** Publishes a slot of the current node. */
    @ForceInline
    public static void at(Cursor cursor, long node, int slot) {
        cursor.slot = node + (Layout.NODE_SLOTS + slot * Layout.SLOT_SIZE);
    }

    /** What the node has counted before the current call, to which the call's own count is added. */
    @ForceInline
    public static long base(long node) {
        return U.getLong(node + Layout.NODE_BYTECODES);
    }

    /**
     * Publishes a slot, and stores what was executed so far: should the callee never return, or the process be killed
     * in it, nothing is missing. A context is on a thread's stack at most once, so nobody else writes the sum.
     */
    @ForceInline
    public static void at(Cursor cursor, long node, long base, int bytecodes, int slot) {
        cursor.slot = node + (Layout.NODE_SLOTS + slot * Layout.SLOT_SIZE);
        if (!FOLDS) {
            U.putLong(node + Layout.NODE_BYTECODES, base + bytecodes);
        }
    }

    /** Stores what was executed so far, before a call from which nobody returns. */
    @ForceInline
    public static void store(long node, long base, int bytecodes) {
        if (!FOLDS) {
            U.putLong(node + Layout.NODE_BYTECODES, base + bytecodes);
        }
    }

    /** Leaves a method that published slots. */
    @ForceInline
    public static void leave(Cursor cursor, long slot, long node, long base, int bytecodes) {
        cursor.slot = slot;
        if (FOLDS) {
            count(node, bytecodes);
        } else {
            U.putLong(node + Layout.NODE_BYTECODES, base + bytecodes);
        }
    }

    /** Leaves a method that published slots and has nothing to count. */
    @ForceInline
    public static void restore(Cursor cursor, long slot) {
        cursor.slot = slot;
    }

    /** Adds executed bytecodes to a node. */
    @ForceInline
    public static void count(long node, int bytecodes) {
        U.putLong(node + Layout.NODE_BYTECODES, U.getLong(node + Layout.NODE_BYTECODES) + bytecodes);
    }

    /** At the head of a loop in a leaf: keeps the method's own counter far from overflowing. */
    @ForceInline
    public static int loop(long node, int bytecodes) {
        if (bytecodes < FLUSH) {
            return bytecodes;
        }
        count(node, bytecodes);
        return 0;
    }

    /** At the head of a loop: moves a large count into the base, and stores the sum for those who watch. */
    @ForceInline
    public static long carry(long node, long base, int bytecodes) {
        if (bytecodes < FLUSH) {
            return base;
        }
        if (FOLDS) {
            count(node, bytecodes);
            return base;
        }
        U.putLong(node + Layout.NODE_BYTECODES, base + bytecodes);
        return base + bytecodes;
    }

    /** What {@link #carry} leaves of the count. */
    @ForceInline
    public static int carried(int bytecodes) {
        return bytecodes < FLUSH ? bytecodes : 0;
    }

    /** Counts a call of an opaque method, which cannot count itself. */
    @ForceInline
    public static void opaque(long node, int slot, int word) {
        enter(node + (Layout.NODE_SLOTS + slot * Layout.SLOT_SIZE), word);
    }

    /** What a slot looks like before a call. */
    @ForceInline
    public static long seen(long node, int slot) {
        long at = node + (Layout.NODE_SLOTS + slot * Layout.SLOT_SIZE);
        return (long) U.getInt(at + Layout.SLOT_NODE) << 32 | U.getInt(at + Layout.SLOT_CALLS) & 0xFFFFFFFFL;
    }

    /** After a call: if nobody counted himself, the callee was the opaque method that it might be. */
    @ForceInline
    public static void possible(long node, long seen, int slot, int word) {
        if (seen(node, slot) == seen) {
            opaque(node, slot + 1, word);
        }
    }

    /** Counts one execution of a block; the counters lie behind the slots. */
    @ForceInline
    public static void block(long node, int slots, int block) {
        if (U.getInt(node + Layout.NODE_METHOD) == 0) {
            // A node outside every tree has slots for all methods and counters for none.
            return;
        }
        long counter = node + (Layout.NODE_SLOTS + slots * Layout.SLOT_SIZE + 8 * block);
        U.putLong(counter, U.getLong(counter) + 1);
    }

    @ForceInline
    static long address(int id) {
        return BASE + ((id & 0xFFFFFFFFL) << Layout.ID_SHIFT);
    }

    static int id(long node) {
        return (int) ((node - BASE) >>> Layout.ID_SHIFT);
    }

    /** The slot holds another method's node, or none yet: finds the right one and counts the call. */
    @DontInline
    private static long miss(long slot, int word) {
        int held = U.getInt(slot + Layout.SLOT_NODE);
        boolean empty = U.getInt(slot + Layout.SLOT_METHOD) == 0;
        int parent = empty ? held : U.getInt(address(held) + Layout.NODE_PARENT);
        if (parent == NO_THREAD) {
            return NO_THREAD_SINK;
        }
        if (parent == FULL) {
            return refuse();
        }
        Cursor cursor = cursor();
        long owner = address(parent);
        int site = (int) ((slot - owner - Layout.NODE_SLOTS) / Layout.SLOT_SIZE);
        if (U.getInt(owner + Layout.NODE_DEPTH) > MAX_DEPTH) {
            // Below the deepest level all methods are children of that level's context.
            parent = U.getInt(owner + Layout.NODE_PARENT);
            site = 0;
        }
        long node = cursor.child(parent, word, SITES ? site : 0, site);
        if (node == 0) {
            return refuse();
        }
        if (!empty) {
            long calls = U.getLong(slot + Layout.SLOT_CALLS);
            long before = address(held) + Layout.NODE_CALLS;
            U.putLong(before, U.getLong(before) + calls);
        }
        U.putInt(slot + Layout.SLOT_METHOD, word);
        U.putInt(slot + Layout.SLOT_NODE, id(node));
        U.putLong(slot + Layout.SLOT_CALLS, 1);
        return node;
    }

    private static long refuse() {
        U.getAndAddLong(null, BASE + Layout.HEADER_REFUSED, 1);
        return SINK;
    }

    @DontInline
    private static Cursor find(Thread thread) {
        long tid = U.getLong(thread, TID);
        if (tid == 0) {
            // Still being constructed, by native code that attaches itself to the VM.
            return NOWHERE;
        }
        int bucket = (int) tid & 0xFFFF;
        lock();
        Cursor before = null;
        Cursor cursor = TABLE[bucket];
        while (cursor != null && cursor.owner != thread) {
            before = cursor;
            cursor = cursor.next;
        }
        if (cursor != null && before != null) {
            // To the front, where the probe looks.
            before.next = cursor.next;
            cursor.next = TABLE[bucket];
            TABLE[bucket] = cursor;
        }
        unlock();
        return cursor != null ? cursor : begin(thread, bucket);
    }

    private static Cursor begin(Thread thread, int bucket) {
        if (U.getLong(ENDED + 8L * bucket) == U.getLong(thread, TID)) {
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
                cursor = recycled(group);
                if (cursor == null) {
                    cursor = Cursor.open(group);
                }
            }
        } catch (OutOfMemoryError full) {
            return NOWHERE;
        }
        cursor.owner = thread;
        lock();
        cursor.next = TABLE[bucket];
        TABLE[bucket] = cursor;
        unlock();
        return cursor;
    }

    private static Cursor recycled(int group) {
        lock();
        Cursor cursor = group < pools.length ? pools[group] : null;
        if (cursor != null) {
            pools[group] = cursor.next;
        }
        unlock();
        return cursor;
    }

    /** What the current thread, which runs no instrumented code, does meanwhile is not the program's. */
    static void aside(boolean begin) {
        Cursor cursor = cursor();
        cursor.slot = begin ? cursor.hidden : cursor.start;
        cursor.held = begin ? 1 : 0;
        cursor.left = 0;
    }

    /** The thread has ended; its tree waits for the next thread of the group. */
    static void end(Thread thread) {
        long tid = U.getLong(thread, TID);
        int bucket = (int) tid & 0xFFFF;
        U.putLong(ENDED + 8L * bucket, tid);
        lock();
        Cursor before = null;
        Cursor cursor = TABLE[bucket];
        while (cursor != null && cursor.owner != thread) {
            before = cursor;
            cursor = cursor.next;
        }
        if (cursor != null) {
            if (before == null) {
                TABLE[bucket] = cursor.next;
            } else {
                before.next = cursor.next;
            }
        }
        unlock();
        if (cursor == null || cursor.group == Cursor.UNCOUNTED) {
            return;
        }
        cursor.rewind();
        Cursor[] larger = null;
        if (cursor.group >= pools.length) {
            try {
                larger = new Cursor[Integer.highestOneBit(cursor.group) << 1];
            } catch (OutOfMemoryError full) {
                return;
            }
        }
        lock();
        if (larger != null && larger.length > pools.length) {
            for (int i = 0; i < pools.length; i++) {
                larger[i] = pools[i];
            }
            pools = larger;
        }
        cursor.next = pools[cursor.group];
        pools[cursor.group] = cursor;
        unlock();
    }

    private static void lock() {
        while (!U.compareAndSetInt(null, LOCK, 0, 1)) {
            Thread.onSpinWait();
        }
    }

    private static void unlock() {
        U.putIntVolatile(null, LOCK, 0);
    }
}
