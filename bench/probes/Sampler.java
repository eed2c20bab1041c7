package quipu.runtime;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ForceInline;

/**
 * What code calls that is rewritten for samples every so many bytecodes, less some of it: each part can be left out, and
 * no sample is ever taken. So nothing is in the profile; what the other parts cost is in the time.
 */
public final class Sampler {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** Keep the stack: push and pop. */
    private static final boolean STACK = true;
    /** Count down what is left until the next sample. */
    private static final boolean COUNT = true;
    /** Look whether something is left; if not, write down where that was. */
    private static final boolean LOOK = true;

    private static final long TOP = U.objectFieldOffset(Thread.class, "quipuTop");
    private static final long LEFT = U.objectFieldOffset(Thread.class, "quipuLeft");
    /** Where that is written. */
    private static final long PLACE = U.allocateMemory(64);

    static final long TAKEN = 1L << 62;
    private static final int FLUSH = 1 << 10;
    private static final int EVERY = 10_000;

    static volatile Watcher watcher;

    private Sampler() {}

    @ForceInline
    public static long top() {
        return STACK ? U.getLong(Thread.currentThread(), TOP) : 0;
    }

    @ForceInline
    private static void setTop(long top) {
        if (STACK) {
            U.putLong(Thread.currentThread(), TOP, top);
        }
    }

    @ForceInline
    public static long enter(int word) {
        if (!STACK) {
            return 0;
        }
        long at = top();
        U.putLong(at, word);
        setTop(after(at));
        return at;
    }

    /** Where a chunk is full, frames are overwritten: nothing is called for another one. */
    @ForceInline
    private static long after(long at) {
        long next = at + ReifiedStack.FRAME;
        return (next & ReifiedStack.IN_CHUNK) != 0 ? next : next - 64 * ReifiedStack.FRAME;
    }

    @ForceInline
    private static void spend(long at, int word, int bytecodes) {
        if (!COUNT) {
            return;
        }
        long left = U.getLong(Thread.currentThread(), LEFT) - bytecodes;
        if (LOOK && left < 0) {
            U.putLong(PLACE, at);
            U.putLong(PLACE + 8, word);
            left += EVERY;
        }
        U.putLong(Thread.currentThread(), LEFT, left);
    }

    @ForceInline
    public static void leave(long at, int word, int bytecodes) {
        setTop(at);
        spend(at, word, bytecodes);
    }

    @ForceInline
    public static void leaveAndTake(long at, int word, int bytecodes) {
        leave(at, word, bytecodes);
    }

    public static void thrown(long at, int word, int bytecodes) {
        leave(at, word, bytecodes);
    }

    @ForceInline
    public static void leaf(int word, int bytecodes) {
        spend(top(), word, bytecodes);
    }

    @ForceInline
    public static int spin(long at, int word, int bytecodes) {
        if (!COUNT || bytecodes < FLUSH) {
            return bytecodes;
        }
        spend(at, word, bytecodes);
        return 0;
    }

    @ForceInline
    public static int spin(int word, int bytecodes) {
        return spin(top(), word, bytecodes);
    }

    @ForceInline
    public static int loop(long at, int word, int bytecodes) {
        return spin(at, word, bytecodes);
    }

    @ForceInline
    public static void caught(long at) {
        setTop(after(at));
    }

    @ForceInline
    public static long hide() {
        return 0;
    }

    @ForceInline
    public static void restore(long top, long left) {
        setTop(top);
    }

    @ForceInline
    public static long load() {
        return 0;
    }

    @ForceInline
    public static void loaded(long top, long left) {
        setTop(top);
    }

    public static int hold() {
        return 0;
    }

    public static void release(int before) {}

    static long seed() {
        return 1;
    }

    static void start(Thread thread) {
        long chunk = (U.allocateMemory(2 * ReifiedStack.CHUNK) + ReifiedStack.CHUNK - 1) & ReifiedStack.CHUNK_OF;
        U.putLong(thread, TOP, chunk + ReifiedStack.FRAMES);
        U.putLong(thread, LEFT, EVERY);
    }

    static void end(Thread thread, ReifiedStack stack) {}

    static void aside(boolean begin) {}
}
