package quipu.runtime;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * What code calls that is rewritten for samples every so many bytecodes: it keeps the thread's {@link ReifiedStack} and
 * spends what is left until the next sample.
 *
 * <p>Nothing here calls instrumented code, allocates on the way that is taken often, or takes a lock there.
 */
public final class Sampler {
    private static final Unsafe U = Unsafe.getUnsafe();

    private static final long TID = U.objectFieldOffset(Thread.class, "tid");
    static final int MAX_DEPTH = Natives.maxDepth();
    /** Bytecodes a loop may keep to itself before it spends them. */
    private static final int FLUSH = 1 << 10;

    /** For threads that have no identity yet, or no tree. */
    private static final ReifiedStack NOWHERE = new ReifiedStack();
    /** Live stacks by thread id: buckets that are chains, each with {@link #NOWHERE} at its end. */
    private static final ReifiedStack[] TABLE = new ReifiedStack[1 << 16];

    private static final long LOCK = U.allocateMemory(8);

    static {
        U.putLong(LOCK, 0);
        for (int i = 0; i < TABLE.length; i++) {
            TABLE[i] = NOWHERE;
        }
    }

    private Sampler() {}

    /** The current thread's stack. */
    @ForceInline
    public static ReifiedStack stack() {
        Thread thread = Thread.currentThread();
        ReifiedStack stack = TABLE[(int) U.getLong(thread, TID) & 0xFFFF];
        return stack.owner == thread ? stack : find(thread);
    }

    /** A method that calls nothing and cannot throw executes this many bytecodes: it need not be on the stack. */
    @ForceInline
    public static void leaf(int word, int bytecodes) {
        ReifiedStack stack = stack();
        if ((stack.left -= bytecodes) <= 0) {
            sample(stack, word);
        }
    }

    /** In a loop of such a method: spends what was counted once it is large; returns what is still to be spent. */
    @ForceInline
    public static int loop(int bytecodes, int word) {
        if (bytecodes < FLUSH) {
            return bytecodes;
        }
        leaf(word, bytecodes);
        return 0;
    }

    /** Enters a method; returns the stack pointer of its caller. */
    @ForceInline
    public static int enter(ReifiedStack stack, int word) {
        int top = stack.top;
        long[] frames = stack.frames;
        if (top < frames.length) {
            frames[top] = word;
        } else {
            deepen(stack, top, word);
        }
        stack.top = top + 1;
        return top;
    }

    /** Enters a method that always executes this many bytecodes. */
    @ForceInline
    public static int enter(ReifiedStack stack, int word, int bytecodes) {
        int top = enter(stack, word);
        spend(stack, bytecodes);
        return top;
    }

    /** In a loop: spends what was counted once it is large; returns what is still to be spent. */
    @ForceInline
    public static int loop(ReifiedStack stack, int bytecodes) {
        if (bytecodes < FLUSH) {
            return bytecodes;
        }
        spend(stack, bytecodes);
        return 0;
    }

    /** Leaves a method. */
    @ForceInline
    public static void leave(ReifiedStack stack, int top) {
        stack.top = top;
    }

    /** Leaves a method that has counted what it executed. */
    @ForceInline
    public static void leave(ReifiedStack stack, int top, int bytecodes) {
        spend(stack, bytecodes);
        stack.top = top;
    }

    /** The method has caught an exception: it is the youngest again. */
    @ForceInline
    public static void caught(ReifiedStack stack, int top) {
        stack.top = top + 1;
    }

    /** From here on nothing is sampled; returns what is left. */
    @ForceInline
    public static long hide(ReifiedStack stack) {
        long before = stack.left;
        stack.left = ReifiedStack.ENDLESS;
        return before;
    }

    /** Undoes {@link #hide}. */
    @ForceInline
    public static void show(ReifiedStack stack, long before) {
        stack.left = before;
    }

    /** From here on what is called is part of class loading, which has a root and a countdown of its own. */
    public static long load(ReifiedStack stack) {
        return stack.load();
    }

    /** Undoes {@link #load}. */
    public static void loaded(ReifiedStack stack, long before) {
        stack.loaded(before);
    }

    @ForceInline
    private static void spend(ReifiedStack stack, int bytecodes) {
        if ((stack.left -= bytecodes) <= 0) {
            sample(stack, 0);
        }
    }

    @DontInline
    private static void sample(ReifiedStack stack, int leaf) {
        stack.sample(leaf);
    }

    @DontInline
    private static void deepen(ReifiedStack stack, int top, int word) {
        stack.deepen(top, word);
    }

    /** The seed of every thread's random numbers. */
    static long seed() {
        return U.getLong(Probe.BASE + Layout.HEADER_SEED);
    }

    @DontInline
    private static ReifiedStack find(Thread thread) {
        int bucket = (int) U.getLong(thread, TID) & 0xFFFF;
        lock();
        ReifiedStack before = null;
        ReifiedStack stack = TABLE[bucket];
        while (stack != NOWHERE && stack.owner != thread) {
            before = stack;
            stack = stack.next;
        }
        if (stack != NOWHERE && before != null) {
            // To the front, where the probe looks.
            before.next = stack.next;
            stack.next = TABLE[bucket];
            TABLE[bucket] = stack;
        }
        unlock();
        return stack != NOWHERE ? stack : begin(thread, bucket);
    }

    private static ReifiedStack begin(Thread thread, int bucket) {
        Cursor cursor = Probe.cursor();
        boolean counted = cursor.group >= 0;
        if (!counted && cursor.owner != thread) {
            return NOWHERE;
        }
        ReifiedStack stack = cursor.stack;
        if (stack == null) {
            try {
                // A thread that is not to be counted has a stack too: it must be found as fast.
                cursor.stack = stack = counted ? new ReifiedStack(cursor) : new ReifiedStack();
            } catch (OutOfMemoryError full) {
                return NOWHERE;
            }
        }
        stack.owner = thread;
        lock();
        stack.next = TABLE[bucket];
        TABLE[bucket] = stack;
        unlock();
        return stack;
    }

    /** The thread has ended. Must come before its cursor goes to another. */
    static void end(Thread thread) {
        int bucket = (int) U.getLong(thread, TID) & 0xFFFF;
        lock();
        ReifiedStack before = null;
        ReifiedStack stack = TABLE[bucket];
        while (stack != NOWHERE && stack.owner != thread) {
            before = stack;
            stack = stack.next;
        }
        if (stack != NOWHERE) {
            if (before == null) {
                TABLE[bucket] = stack.next;
            } else {
                before.next = stack.next;
            }
            stack.rewind();
        }
        unlock();
    }

    /** What the current thread, which runs no instrumented code, does meanwhile is not the program's. */
    static void aside(boolean begin) {
        stack().aside(begin);
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
