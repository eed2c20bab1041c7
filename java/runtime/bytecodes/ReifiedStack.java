package quipu.runtime;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ForceInline;

/**
 * A thread's call stack as the sampler sees it: the methods that are active, in chunks of memory that never move.
 *
 * <p>A frame is a method's word. When a sample is taken, the words on the stack get the node of their context in their
 * upper halves. A method that is called later overwrites its place with a bare word, so the frames that still have a
 * node are those that have been there ever since, and a sample only looks up what was called since the last one,
 * however deep the stack is.
 *
 * <p>In front of its frames the lowest chunk has room for the record of a sample that is due and not taken yet: the
 * method in which it became due, and the methods of its context that were left since, youngest first. What is below the
 * lowest frame reached since then is still on the stack.
 */
public final class ReifiedStack {
    private static final Unsafe U = Unsafe.getUnsafe();

    static final long CHUNK = Layout.STACK_CHUNK;
    /** Bits of an address that tell its chunk, and where it is in there. */
    static final long CHUNK_OF = -CHUNK, IN_CHUNK = CHUNK - 1;

    /** The chunks before and after it. */
    private static final long BEFORE = 0, AFTER = 8;
    /** What to add to an address in the chunk for its place: places grow with depth, from chunk to chunk. */
    static final long TO_PLACE = 16;
    /** The lowest chunk, which has the record of the sample that is due. */
    static final long RECORD = 24;

    /** The lowest place that was on top since the sample became due: the rest of its context is below. */
    static final long LOWEST = 32;
    /** The address of that place. */
    private static final long LOWEST_AT = 40;
    /** Bytes of methods that were left; and the methods, as many as there is room for. */
    private static final long LEFT_BEHIND = 48, PATH = 64;

    /** The first frame. */
    static final long FRAMES = Layout.STACK_FRAMES, FRAME = 8;
    /** Bytes for methods that were left: a power of two. */
    private static final int PATH_SIZE = (int) (FRAMES - PATH);

    /** A chunk for frames that are never looked at, of any thread; in its record every place is too high to be written down. */
    static final long SCRATCH = Natives.scratch();

    static {
        U.putLong(SCRATCH + RECORD, SCRATCH);
    }

    /** Where the next frame goes, and bytecodes until the next sample; in fields of the thread where it has them. */
    long top, left;

    /** How many methods that load classes are on the stack. */
    int loads;
    /** What is left in class loading. */
    long leftLoading;

    /** State of the generator of random numbers; class loading, which comes when the JIT wants it, has its own. */
    private long random, randomLoading;

    /** What the user's agent wants from one sample to the next; 0 if it does not say. */
    long granularity;
    /** 1 while that agent has to wait, because of what the thread does or because the agent is what it does. */
    int held;
    /** What the agent's {@link Watcher} knows of the thread. */
    Object view;

    /** The lowest chunks of the thread's calls and of class loading; 0 if there is none. */
    private long first, firstLoading;
    /** The thread's tree; none for those that cannot have one. */
    final Cursor cursor;

    /** The stack of threads that cannot have a tree, or shall have none: never sampled. */
    ReifiedStack() {
        cursor = null;
        top = SCRATCH + FRAMES;
        left = Sampler.ENDLESS;
        leftLoading = left;
    }

    /** A stack whose samples go to the cursor's tree. */
    ReifiedStack(Cursor cursor) {
        this.cursor = cursor;
        first = chunk(0);
        begin();
    }

    private void begin() {
        random = Sampler.seed();
        randomLoading = random;
        leftLoading = interval();
        // A watcher is told of the thread first.
        left = Sampler.watcher != null ? 0 : leftLoading;
        empty();
    }

    /** Nothing is on the stack, and no sample is written down. */
    void empty() {
        top = bottom(first);
        loads = 0;
        held = 0;
        clear(first);
        clear(firstLoading);
        if (cursor != null && (left < 0 || left > Sampler.ENDLESS / 2)) {
            // What a thread left behind that ended where nothing is sampled, or code that was instrumented before.
            left = interval();
        }
    }

    /** No sample is due. */
    private static void clear(long record) {
        if (record != 0) {
            U.putLong(record + LOWEST, Long.MAX_VALUE);
            U.putLong(record + LEFT_BEHIND, 0);
        }
    }

    private static long bottom(long chunk) {
        return (chunk != 0 ? chunk : SCRATCH) + FRAMES;
    }

    /** Where the first frame of class loading goes. */
    long loadingTop() {
        if (firstLoading == 0 && cursor != null) {
            firstLoading = chunk(0);
        }
        return bottom(firstLoading);
    }

    /** For the next thread of the group. What is left goes on: many short threads are sampled like one long one. */
    void rewind() {
        if (left < 0) {
            loads = 0;
            left = take(left);
        }
        empty();
        Watcher watcher = Sampler.watcher;
        if (watcher != null) {
            if (watcher.knows(this)) {
                watcher.ended(this);
            }
            left = 0;
        }
        granularity = 0;
        view = null;
    }

    /** What the thread does meanwhile is not the program's. */
    void aside(boolean begin) {
        if (begin || cursor == null) {
            loads = 0;
            top = SCRATCH + FRAMES;
            left = Sampler.ENDLESS;
        } else {
            begin();
        }
    }

    /** The place of the frame after another one. */
    @ForceInline
    static long after(long at) {
        long next = at + FRAME;
        return (next & IN_CHUNK) != 0 ? next : bottom(U.getLong((at & CHUNK_OF) + AFTER));
    }

    /** The place of the frame before another one; 0 if that is the first. */
    private static long before(long at) {
        if ((at & IN_CHUNK) != FRAMES) {
            return at - FRAME;
        }
        long chunk = U.getLong((at & CHUNK_OF) + BEFORE);
        return chunk != 0 ? chunk + CHUNK - FRAME : 0;
    }

    /**
     * A frame is the last of its chunk: returns the place of the one after it. Without memory for more, the deepest
     * frames are left out of samples.
     */
    long deepen(long at) {
        long chunk = at & CHUNK_OF;
        if (chunk != SCRATCH && U.getLong(chunk + AFTER) == 0) {
            long next = chunk(chunk);
            U.putLong(chunk + AFTER, next);
            if (next == 0) {
                U.getAndAddLong(null, Probe.BASE + Layout.HEADER_REFUSED, 1);
            }
        }
        return after(at);
    }

    /** The sample becomes due in a method, or a method of its context is left. */
    @ForceInline
    static void leaveBehind(long record, long at, long place, int word) {
        long length = U.getLong(record + LEFT_BEHIND);
        // Not more than there is room for: such a sample is lost.
        U.putInt(record + PATH + (length & PATH_SIZE - 1), word);
        U.putLong(record + LEFT_BEHIND, length + 4);
        U.putLong(record + LOWEST_AT, at);
        U.putLong(record + LOWEST, place);
    }

    /** Takes as many samples as are due in the context that was written down; returns what is left. */
    long take(long left) {
        left |= Sampler.TAKEN;
        long record = loads == 0 ? first : firstLoading;
        if (record == 0 || U.getLong(record + LEFT_BEHIND) == 0) {
            // It became due in a method that was entered before the thread had a stack.
            return interval();
        }
        Watcher watcher = loads == 0 ? Sampler.watcher : null;
        int node = context(record);
        clear(record);
        if (watcher != null && !watcher.knows(this)) {
            watcher.register(this);
            return interval();
        }
        long due = 0;
        do {
            due++;
            if (watcher != null && node != 0) {
                watcher.sampled(this, node);
            }
            left += interval();
        } while (left < 0);
        if (node != 0) {
            long samples = Probe.address(node) + Layout.NODE_BYTECODES;
            U.putLong(samples, U.getLong(samples) + due);
        } else {
            U.getAndAddLong(null, Probe.BASE + Layout.HEADER_REFUSED, due);
        }
        return left;
    }

    /** The node of the context that was written down; 0 if that is not known or the arena is full. */
    private int context(long record) {
        long length = U.getLong(record + LEFT_BEHIND);
        if (length > PATH_SIZE) {
            return 0;
        }
        long end = U.getLong(record + LOWEST_AT);
        long at = end;
        int node = 0;
        for (long below = before(at); node == 0 && below != 0; below = before(at)) {
            at = below;
            node = U.getInt(at + 4);
        }
        if (node != 0) {
            at = after(at);
        } else {
            node = cursor.root(loads != 0);
        }
        int folded = 0;
        for (; at != end && node != 0; at = after(at)) {
            int word = U.getInt(at);
            if (isDeepest(node)) {
                folded = word;
            } else {
                node = child(node, word);
                U.putInt(at + 4, node);
            }
        }
        while (length != 0 && node != 0) {
            length -= 4;
            int word = U.getInt(record + PATH + length);
            if (isDeepest(node)) {
                folded = word;
            } else {
                node = child(node, word);
            }
        }
        // Below the deepest level all methods are children of that level's context.
        return folded != 0 && node != 0 ? child(node, folded) : node;
    }

    private static boolean isDeepest(int node) {
        return U.getInt(Probe.address(node) + Layout.NODE_DEPTH) >= Probe.maxDepth;
    }

    private int child(int parent, int word) {
        long node = cursor.child(parent, word, 0, 0);
        return node == 0 ? 0 : Probe.id(node);
    }

    /** Bytecodes from one sample to the next, at least. */
    private long every() {
        return granularity != 0 && loads == 0 ? granularity : U.getLong(Probe.BASE + Layout.HEADER_EVERY);
    }

    /** Bytecodes from one sample to the next. */
    private long interval() {
        long jitter = U.getLong(Probe.BASE + Layout.HEADER_JITTER);
        long every = every();
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

    /**
     * An empty chunk; 0 if there is no memory for it. Not from a pool of chunks, which needs a lock: the program's stack
     * may overflow here, and it would never be given back.
     */
    private long chunk(long before) {
        long chunk;
        try {
            chunk = (U.allocateMemory(2 * CHUNK) + CHUNK - 1) & CHUNK_OF;
        } catch (OutOfMemoryError full) {
            return 0;
        }
        U.putLong(chunk + BEFORE, before);
        U.putLong(chunk + AFTER, 0);
        if (before == 0) {
            U.putLong(chunk + TO_PLACE, -chunk);
            U.putLong(chunk + RECORD, chunk);
            clear(chunk);
        } else {
            U.putLong(chunk + TO_PLACE, U.getLong(before + TO_PLACE) + before + CHUNK - chunk);
            U.putLong(chunk + RECORD, U.getLong(before + RECORD));
        }
        return chunk;
    }
}
