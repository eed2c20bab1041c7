package quipu.runtime;

import jdk.internal.misc.Unsafe;

/**
 * A thread's call stack as the sampler sees it: the methods that are active, and how many bytecodes are left until the
 * next sample.
 *
 * <p>A typed object and not raw memory, for the same reason as {@link Cursor}: the JIT forwards the fields from one
 * inlined probe to the next.
 *
 * <p>A frame is a method's word. When a sample is taken, the words on the stack get the node of their context in their
 * upper halves. A method that is called later overwrites its place with a bare word, so the frames that still have a
 * node are those that have been there ever since, and a sample only looks up what was called since the last one,
 * however deep the stack is.
 */
public final class ReifiedStack {
    private static final Unsafe U = Unsafe.getUnsafe();

    private static final int FIRST_FRAMES = 64;
    /** More than a thread ever spends. */
    static final long ENDLESS = Long.MAX_VALUE / 2;

    /** Bytecodes until the next sample. */
    public long left;
    /** Number of frames. */
    public int top;
    long[] frames = new long[FIRST_FRAMES];

    /** How many methods that load classes are on the stack. */
    private int loads;
    /** The first frame of class loading, which has a root and a countdown of its own. */
    private int firstLoading;
    private long leftLoading;

    /** State of the generator of random numbers; class loading, which comes when the JIT wants it, has its own. */
    private long random, randomLoading;
    /** The thread's tree; none for those that cannot have one. */
    final Cursor cursor;
    Thread owner;
    /** Next in the bucket of the table of live stacks. */
    ReifiedStack next;

    /** The stack of threads that cannot have a tree, or shall have none: never sampled. */
    ReifiedStack() {
        cursor = null;
        left = ENDLESS;
        leftLoading = ENDLESS;
    }

    /** A stack whose samples go to the cursor's tree. */
    ReifiedStack(Cursor cursor) {
        this.cursor = cursor;
        begin();
    }

    private void begin() {
        random = Sampler.seed();
        randomLoading = random;
        left = interval();
        leftLoading = left;
    }

    /** For the next thread of the group. What is left goes on: many short threads are sampled like one long one. */
    void rewind() {
        top = 0;
        loads = 0;
        owner = null;
    }

    /** The array is full. Without memory for more, the deepest frames are left out of samples. */
    void deepen(int at, int word) {
        long[] before = frames;
        if (cursor == null || before.length > at) {
            return;
        }
        long[] grown;
        try {
            grown = new long[before.length << 1];
        } catch (OutOfMemoryError full) {
            return;
        }
        for (int i = 0; i < before.length; i++) {
            grown[i] = before[i];
        }
        grown[at] = word;
        frames = grown;
    }

    /** Class loading begins; returns what was left, the least number if it has begun already. */
    long load() {
        if (loads++ != 0) {
            return Long.MIN_VALUE;
        }
        long before = left;
        left = leftLoading;
        firstLoading = top;
        return before;
    }

    /** Undoes {@link #load}. */
    void loaded(long before) {
        loads--;
        if (before != Long.MIN_VALUE) {
            leftLoading = left;
            left = before;
        }
    }

    /** What the thread does meanwhile is not the program's. */
    void aside(boolean begin) {
        top = 0;
        loads = 0;
        if (begin || cursor == null) {
            left = ENDLESS;
        } else {
            begin();
        }
    }

    /** Nothing is left: takes as many samples as are due. {@code leaf} is a method that is not on the stack, or 0. */
    void sample(int leaf) {
        long due = 0;
        do {
            left += interval();
            due++;
        } while (left <= 0);
        if (cursor == null) {
            return;
        }
        int node = context(leaf);
        if (node == 0) {
            U.getAndAddLong(null, Probe.BASE + Layout.HEADER_REFUSED, due);
            return;
        }
        long samples = Probe.address(node) + Layout.NODE_BYTECODES;
        U.putLong(samples, U.getLong(samples) + due);
    }

    /** The node of the context the thread is in; 0 if the arena is full. */
    private int context(int leaf) {
        int end = Math.min(top, frames.length);
        int first = loads == 0 ? 0 : Math.min(firstLoading, end);
        int deepest = end - first > Sampler.MAX_DEPTH ? first + Sampler.MAX_DEPTH : end;
        int at = deepest;
        while (at > first && frames[at - 1] >>> 32 == 0) {
            at--;
        }
        int node = at > first ? (int) (frames[at - 1] >>> 32) : cursor.root(loads != 0);
        for (; at < deepest; at++) {
            int word = (int) frames[at];
            node = child(node, word);
            if (node == 0) {
                return 0;
            }
            frames[at] = (long) node << 32 | word;
        }
        // Below the deepest level all methods are children of that level's context.
        if (leaf != 0) {
            return child(node, leaf);
        }
        return end > deepest ? child(node, (int) frames[end - 1]) : node;
    }

    private int child(int parent, int word) {
        long node = cursor.child(parent, word, 0, 0);
        return node == 0 ? 0 : Probe.id(node);
    }

    /** Bytecodes from one sample to the next. */
    private long interval() {
        long jitter = U.getLong(Probe.BASE + Layout.HEADER_JITTER);
        long every = U.getLong(Probe.BASE + Layout.HEADER_EVERY);
        if (jitter > 1) {
            // Knuth's MMIX generator; its upper bits are the good ones.
            long next = (loads == 0 ? random : randomLoading) * 6364136223846793005L + 1442695040888963407L;
            if (loads == 0) {
                random = next;
            } else {
                randomLoading = next;
            }
            every += (next >>> 33) % jitter;
        }
        return every > 0 ? every : 1;
    }
}
