package quipu.runtime;

import jdk.internal.misc.Unsafe;

/**
 * Where a thread is in its tree, and the tree's memory.
 *
 * <p>A typed object and not raw memory: the JIT keeps {@link #slot} apart from the arena's memory and forwards it
 * from the caller's store to the callee's load when the call is inlined.
 *
 * <p>A cursor outlives its thread: the next thread of the same group goes on with it, so that the number of trees is
 * that of threads alive at once. Nothing here may call instrumented code.
 */
public final class Cursor {
    private static final Unsafe U = Unsafe.getUnsafe();

    private static final long FIRST_CHUNK = 1 << 10;
    private static final long LAST_CHUNK = 1 << 20;
    private static final int FIRST_TABLE = 64;
    /** Entries of the largest ledger. */
    private static final int LAST_LEDGER = 1 << 24;
    /** Whether the machine has the lower half of a long at the lower address. */
    static final boolean LITTLE = isLittleEndian();

    /** Address of the slot in which the next callee finds its node. */
    public long slot;

    /** The slot for what loads and links classes: the JIT makes it happen at times of its own choosing. */
    public final long loading;
    /** How many methods that load classes are on the stack. */
    public int loads;

    /** The slot for what an opaque method calls. */
    public final long hidden;

    /** The thread's current tally, if threads have tallies. In a field of the thread, where threads have fields. */
    public long tally;
    private long ownTally;
    private long loadingTally;

    /** What instructions that are told apart have done: see {@link Ledger}. The table, and its size less one. */
    long ledger = Ledger.NONE;
    int ledgerMask;
    private int ledgerUsed;

    /** What the thread has locked, since when, and the keys that its {@link Ledger} has for that: see {@code Held}. */
    Object[] locks;
    long[] lockedSince;
    long[] lockKeys;
    int locked;
    /** The one of them that it has let go of until it is notified. */
    Object paused;
    /** The profile in which that is so. */
    int lockedIn;

    /** Below a root that is timed: the slot in which the next callee finds its node, and 0 outside of all; see {@code Timer}. */
    public long below;
    /** The slot that takes the time that passes, and since when. */
    long running;
    long since;
    /** How much time has passed that was not the program's. */
    long skipped;
    /** Whether the thread has left the roots for a moment, to load classes. */
    boolean away;
    /** Whether it is used only by what still runs of code that was instrumented for a profile that is over: see {@link Cursors}. */
    boolean retired;

    /** Bytecodes until the thread calls the user's agent; see {@code Activation}. Unused while there is none. */
    public int left;
    /** 1 while the agent has to wait, because of what the thread does or because the agent is what it does. */
    public int held;
    /** The agent that knows the thread, and its view of the tree. */
    Object agent, view;

    /** The thread's call stack, if there are samples every so many bytecodes. */
    ReifiedStack stack;

    final int group;
    Thread owner;

    /** The slot for what the thread does first. */
    final long start;
    private final int tree;
    private long chunk;
    private long top;
    private long end;
    private long chunkSize = FIRST_CHUNK;
    private long table;
    private int mask;
    private int nodes;

    /** Group of threads that are not to be counted. */
    static final int UNCOUNTED = -2;

    /** The cursor of threads that cannot have one, or shall not be counted; it leads nowhere. */
    Cursor(long sink) {
        group = UNCOUNTED;
        tree = 0;
        start = loading = hidden = slot = sink + Layout.NODE_SLOTS;
        tally = ownTally = loadingTally = Tally.unread;
    }

    private Cursor(int group, int tree) {
        this.group = group;
        this.tree = tree;
        table = U.allocateMemory(4L * FIRST_TABLE);
        U.setMemory(table, 4L * FIRST_TABLE, (byte) 0);
        mask = FIRST_TABLE - 1;
        boolean room = grow(3 * Layout.ROOT_SIZE);
        start = room ? root(Layout.ROOT_CALLS) : Probe.SINK + Layout.NODE_SLOTS;
        loading = room ? root(Layout.ROOT_LOADING) : start;
        hidden = room ? root(Layout.ROOT_HIDDEN) : start;
        slot = start;
    }

    /** A cursor with a new tree. */
    static Cursor open(int group) {
        int tree = U.getAndAddInt(null, Probe.BASE + Layout.HEADER_NEXT_TREE, 1);
        Natives.tree(tree, group);
        return new Cursor(group, tree);
    }

    /** Whether the thread lacks a tally, though threads have them. */
    boolean lacksTally() {
        return ownTally == 0 && Tally.unread != 0;
    }

    /** Gives the thread its tally. */
    void openTally() {
        long opened = group == UNCOUNTED ? 0 : Natives.tally(tree, Layout.ROOT_CALLS);
        tally = ownTally = opened != 0 ? opened : Tally.unread;
    }

    /** The tally for what loads classes. */
    long loadingTally() {
        if (loadingTally == 0) {
            long opened = group == UNCOUNTED ? 0 : Natives.tally(tree, Layout.ROOT_LOADING);
            loadingTally = opened != 0 ? opened : Tally.unread;
        }
        return loadingTally;
    }

    /** The tally of what the thread calls. */
    long ownTally() {
        return ownTally;
    }

    /** Back to the root, for the next thread. */
    void rewind() {
        slot = start;
        tally = ownTally;
        below = 0;
        away = false;
        retired = false;
        loads = 0;
        left = 0;
        held = 0;
        agent = null;
        owner = null;
        locks = null;
        locked = 0;
        paused = null;
    }

    /** Whether a method that was entered below a root has not returned yet. */
    boolean isBelowRoot() {
        return below != 0 || away;
    }

    /** Number of the tree. */
    int tree() {
        return tree;
    }

    /** Id of the root of what the thread calls. */
    int root() {
        return Probe.id(start - Layout.NODE_SLOTS);
    }

    /** Id of the root of what the thread calls, or of what it does to load classes. */
    int root(boolean loads) {
        return Probe.id((loads ? loading : start) - Layout.NODE_SLOTS);
    }

    private long root(int kind) {
        long node = allocate(Layout.ROOT_WORD, 0, Layout.ROOT_SIZE, Layout.ROOT_SLOTS, kind,
                kind == Layout.ROOT_HIDDEN ? Layout.HIDDEN : 0);
        return node + Layout.NODE_SLOTS;
    }

    /**
     * The child of {@code parent} for a method, opened if this is its first call; 0 if the arena is full.
     *
     * @param key what tells children apart besides the method: 0, or the number of the call site
     */
    long child(int parent, int word, int key, int site) {
        int probe = hash(parent, word, key) & mask;
        for (int id; (id = U.getInt(table + 4L * probe)) != 0; probe = (probe + 1) & mask) {
            long node = Probe.address(id);
            if (U.getInt(node + Layout.NODE_METHOD) == word
                    && U.getInt(node + Layout.NODE_PARENT) == parent
                    && (!Probe.sites || U.getChar(node + Layout.NODE_SITE) == site)) {
                return node;
            }
        }
        return openChild(parent, word, key, site, probe);
    }

    private long openChild(int parent, int word, int key, int site, int probe) {
        long sizes = Probe.SIZES + 8L * (word >>> 1);
        long size = U.getInt(sizes) & 0xFFFFFFFFL;
        if (size == 0 || (top + size > end && !grow(size))) {
            return 0;
        }
        if (2 * (nodes + 1) > mask) {
            if (!growTable()) {
                return 0;
            }
            probe = hash(parent, word, key) & mask;
            while (U.getInt(table + 4L * probe) != 0) {
                probe = (probe + 1) & mask;
            }
        }
        int depth = U.getInt(Probe.address(parent) + Layout.NODE_DEPTH) + 1;
        long node = allocate(word, parent, size, U.getInt(sizes + 4), site, depth);
        U.putInt(table + 4L * probe, Probe.id(node));
        nodes++;
        if (below != 0) {
            reached(word);
        }
        return node;
    }

    /** A method is below a root for the first time in this context; that it is made known to the agent is not its time. */
    private void reached(int word) {
        long began = System.nanoTime();
        Natives.reached(word >>> 1);
        skip(System.nanoTime() - began);
    }

    /** So much of the time that passes is not the program's. */
    void skip(long nanos) {
        since += nanos;
        skipped += nanos;
    }

    /**
     * Fills in a node at {@link #top}; the caller has made room. Fresh pages are zero. Once the header is written the
     * memory is the node's, also if something is thrown before the slots are: it is then a node that is never called.
     */
    private long allocate(int word, int parent, long size, int slots, int site, int depth) {
        long node = top;
        U.putLong(node + Layout.NODE_METHOD, words(word, parent));
        U.putLong(node + Layout.NODE_STRIDE, words((int) (size >>> 3) | site << 16, depth));
        top = node + size;
        long slot = node + Layout.NODE_SLOTS;
        for (long last = slot + (long) slots * Layout.SLOT_SIZE; slot < last; slot += Layout.SLOT_SIZE) {
            Probe.link(slot, node);
        }
        // A reader that sees the new end must see the node.
        U.storeFence();
        U.putLong(chunk + Layout.CHUNK_USED, node + size - chunk);
        return node;
    }

    private static boolean isLittleEndian() {
        long memory = U.allocateMemory(8);
        U.putLong(memory, 1);
        boolean little = U.getInt(memory) == 1;
        U.freeMemory(memory);
        return little;
    }

    /** Two words as one long: the first has the lower address. */
    static long words(int first, int second) {
        return LITTLE ? (long) second << 32 | first & 0xFFFFFFFFL : (long) first << 32 | second & 0xFFFFFFFFL;
    }

    /** Takes a new chunk with room for a node of this size. */
    private boolean grow(long size) {
        long bytes = chunkSize;
        while (bytes < Layout.CHUNK_HEADER + size) {
            bytes <<= 1;
        }
        // Until all fields tell of the new chunk, there is no room in it.
        end = 0;
        long fresh = Natives.chunk(tree, bytes);
        if (fresh == 0) {
            return false;
        }
        chunk = fresh;
        top = fresh + Layout.CHUNK_HEADER;
        end = fresh + bytes;
        if (chunkSize < LAST_CHUNK) {
            chunkSize <<= 1;
        }
        return true;
    }

    private boolean growTable() {
        int size = (mask + 1) << 1;
        long grown;
        try {
            grown = U.allocateMemory(4L * size);
        } catch (OutOfMemoryError full) {
            return false;
        }
        U.setMemory(grown, 4L * size, (byte) 0);
        for (int i = 0; i <= mask; i++) {
            int id = U.getInt(table + 4L * i);
            if (id != 0) {
                long node = Probe.address(id);
                int key = Probe.sites ? U.getChar(node + Layout.NODE_SITE) : 0;
                int h = hash(U.getInt(node + Layout.NODE_PARENT), U.getInt(node + Layout.NODE_METHOD), key);
                int probe = h & (size - 1);
                while (U.getInt(grown + 4L * probe) != 0) {
                    probe = (probe + 1) & (size - 1);
                }
                U.putInt(grown + 4L * probe, id);
            }
        }
        // Nothing is called in between, so both change or none.
        long old = table;
        table = grown;
        mask = size - 1;
        U.freeMemory(old);
        return true;
    }

    /**
     * The entry of the ledger with this key, which is not the first that would be looked at; 0 if there is none and no room for
     * it, or the thread is not counted.
     */
    long entry(long key) {
        if (tree == 0) {
            return 0;
        }
        long entry = search(key);
        if (U.getLong(entry) == key) {
            return entry;
        }
        if (2 * (ledgerUsed + 1) > ledgerMask) {
            if (!growLedger()) {
                U.getAndAddLong(null, Probe.BASE + Layout.HEADER_REFUSED, 1);
                return 0;
            }
            entry = search(key);
        }
        U.putLong(entry, key);
        ledgerUsed++;
        return entry;
    }

    /** The entry with this key, or where it belongs. */
    private long search(long key) {
        int at = Ledger.hash(key) & ledgerMask;
        for (;;) {
            long entry = ledger + Layout.LEDGER_SIZE * at;
            long found = U.getLong(entry);
            if (found == key || found == 0) {
                return entry;
            }
            at = (at + 1) & ledgerMask;
        }
    }

    /** A larger table in place of the one that there is. Until readers are told of it, it can be given up at any moment. */
    private boolean growLedger() {
        int size = ledgerMask == 0 ? FIRST_TABLE : (ledgerMask + 1) << 1;
        long old = ledger;
        long replaces = old == Ledger.NONE ? 0 : old - Layout.CHUNK_HEADER - Probe.BASE;
        long chunk = size > LAST_LEDGER ? 0 : Natives.ledger(tree, size, replaces);
        if (chunk == 0) {
            return false;
        }
        long table = chunk + Layout.CHUNK_HEADER;
        for (int i = 0; i <= ledgerMask; i++) {
            long from = old + Layout.LEDGER_SIZE * i;
            long key = U.getLong(from);
            if (key != 0) {
                int at = Ledger.hash(key) & (size - 1);
                while (U.getLong(table + Layout.LEDGER_SIZE * at) != 0) {
                    at = (at + 1) & (size - 1);
                }
                long to = table + Layout.LEDGER_SIZE * at;
                U.putLong(to, key);
                U.putLong(to + Layout.LEDGER_COUNT, U.getLong(from + Layout.LEDGER_COUNT));
                U.putLong(to + Layout.LEDGER_VALUE, U.getLong(from + Layout.LEDGER_VALUE));
            }
        }
        U.storeFence();
        U.putInt(chunk + Layout.CHUNK_KIND, Layout.CHUNK_LEDGER);
        // Nothing is called in between, so both change or none.
        ledger = table;
        ledgerMask = size - 1;
        return true;
    }

    private static int hash(int parent, int word, int key) {
        int h = parent * 0x9E3779B1 + word * 0x85EBCA6B + key * 0xC2B2AE35;
        return h ^ (h >>> 15);
    }
}
