package quipu.runtime;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * What code calls that is rewritten for samples every so many bytecodes: it keeps the thread's {@link ReifiedStack} and
 * spends what is left until the next sample.
 *
 * <p>A call that might happen makes the JIT forget what it knows of memory and registers, whether it happens or not. So
 * most methods do not take the sample that becomes due in them: they write down where that was ({@link #note}), which is
 * done without a call, and so do the methods that are left meanwhile. Loops that call something anyway, methods too
 * large to be inlined and those that may call themselves take it.
 *
 * <p>Nothing here calls instrumented code, allocates on the way that is taken often, or takes a lock there.
 */
public final class Sampler {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** Fields of the thread, if it has them: where the next frame goes, and the bytecodes until the next sample. */
    private static final long TOP = Probe.DIRECT ? Natives.offset(Thread.class, "quipuTop") : 0;
    private static final long LEFT = Probe.DIRECT ? Natives.offset(Thread.class, "quipuLeft") : 0;

    /** More than a thread ever spends. */
    static final long ENDLESS = Layout.STACK_ENDLESS;
    /** Cleared in what is left, which is negative then, while a sample is written down and not taken. */
    static final long TAKEN = 1L << 62;
    /** Class loading has begun already. */
    private static final long BEGUN = Long.MIN_VALUE;
    /** Bytecodes a loop may keep to itself. */
    private static final int FLUSH = 1 << 10;
    /** Below so many bytecodes from one sample to the next, samples are taken where they become due. */
    private static final long CLOSE = 2_000;
    private static final boolean AT_ONCE = U.getLong(Probe.BASE + Layout.HEADER_EVERY) < CLOSE;

    /** For threads that cannot have one of their own. */
    private static final ReifiedStack NOWHERE = new ReifiedStack();

    /** What is told of samples; null unless the user has an agent. */
    static volatile Watcher watcher;

    private Sampler() {}

    /** The current thread's stack. */
    @ForceInline
    private static ReifiedStack stack() {
        Cursor cursor = Probe.cursor();
        ReifiedStack stack = cursor.stack;
        return stack != null ? stack : open(cursor);
    }

    @DontInline
    private static ReifiedStack open(Cursor cursor) {
        if (cursor.stack == null) {
            try {
                // A thread that is not to be counted has a stack too: it must be found as fast.
                cursor.stack = cursor.group >= 0 ? new ReifiedStack(cursor) : new ReifiedStack();
            } catch (OutOfMemoryError full) {
                return NOWHERE;
            }
        }
        return cursor.stack;
    }

    /** Where the thread's next frame goes. */
    @ForceInline
    public static long top() {
        return Probe.DIRECT ? U.getLong(Thread.currentThread(), TOP) : stack().top;
    }

    @ForceInline
    private static void setTop(long top) {
        if (Probe.DIRECT) {
            U.putLong(Thread.currentThread(), TOP, top);
        } else {
            stack().top = top;
        }
    }

    /** Bytecodes until the thread's next sample. */
    @ForceInline
    private static long left() {
        return Probe.DIRECT ? U.getLong(Thread.currentThread(), LEFT) : stack().left;
    }

    @ForceInline
    private static void setLeft(long left) {
        if (Probe.DIRECT) {
            U.putLong(Thread.currentThread(), LEFT, left);
        } else {
            stack().left = left;
        }
    }

    /** Enters a method; returns where it is on the stack. */
    @ForceInline
    public static long enter(int word) {
        long at = top();
        U.putLong(at, word);
        long next = at + ReifiedStack.FRAME;
        setTop((next & ReifiedStack.IN_CHUNK) != 0 ? next : deepen(at));
        return at;
    }

    /** Leaves a method that has executed this many bytecodes. */
    @ForceInline
    public static void leave(long at, int word, int bytecodes) {
        setTop(at);
        spend(at, word, bytecodes);
    }

    /** The same in a method that takes samples. */
    @ForceInline
    public static void leaveAndTake(long at, int word, int bytecodes) {
        setTop(at);
        long left = left() - bytecodes;
        setLeft(left >= 0 ? left : settle(left, at, word));
    }

    /** Leaves a method by an exception. */
    public static void thrown(long at, int word, int bytecodes) {
        caught(at);
        leave(at, word, bytecodes);
    }

    /** A method that calls nothing and cannot throw executes this many bytecodes: it need not be on the stack. */
    @ForceInline
    public static void leaf(int word, int bytecodes) {
        spend(top(), word, bytecodes);
    }

    /** In a loop: spends what was counted once it is large; returns what is still to be spent. */
    @ForceInline
    public static int spin(long at, int word, int bytecodes) {
        if (bytecodes < FLUSH) {
            return bytecodes;
        }
        spend(at, word, bytecodes);
        return 0;
    }

    /** The same in a method that is not on the stack. */
    @ForceInline
    public static int spin(int word, int bytecodes) {
        return spin(top(), word, bytecodes);
    }

    /**
     * In a loop that takes samples: does so if one is due, and spends what was counted once it is large; returns what
     * is still to be spent. Were it spent just when that makes a sample due, the loop would get the samples of all that
     * it calls.
     */
    @ForceInline
    public static int loop(long at, int word, int bytecodes) {
        return (left() | FLUSH - bytecodes) >= 0 ? bytecodes : turn(at, word, bytecodes);
    }

    /** The method has caught an exception: it is the youngest again. */
    @ForceInline
    public static void caught(long at) {
        if (left() < 0) {
            // Methods that could not catch it did not write down that they were left; they are still in memory.
            setLeft(take(left()));
        }
        setTop(ReifiedStack.after(at));
    }

    /** From here on nothing is sampled; returns what is left. */
    @ForceInline
    public static long hide() {
        long left = left();
        restore(ReifiedStack.SCRATCH + ReifiedStack.FRAMES, ENDLESS);
        return left;
    }

    /** Undoes {@link #hide}. */
    @ForceInline
    public static void restore(long top, long left) {
        setTop(top);
        setLeft(left);
    }

    /**
     * From here on what is called is part of class loading, which has a stack and a countdown of its own. Returns what
     * is left, {@link #BEGUN} if it has begun already: then that must not be put back.
     */
    public static long load() {
        ReifiedStack stack = stack();
        if (stack.loads++ != 0) {
            return BEGUN;
        }
        long left = left();
        restore(stack.loadingTop(), stack.leftLoading);
        return left;
    }

    /** Undoes {@link #load}. */
    public static void loaded(long top, long left) {
        ReifiedStack stack = stack();
        setTop(top);
        if (left != BEGUN) {
            long loading = left();
            stack.leftLoading = loading < 0 ? stack.take(loading) : loading;
            setLeft(left);
        }
        stack.loads--;
    }

    /** From here on the user's agent has to wait; returns whether it had to before. */
    public static int hold() {
        ReifiedStack stack = stack();
        int before = stack.held;
        stack.held = 1;
        return before;
    }

    /** Undoes {@link #hold}. */
    public static void release(int before) {
        stack().held = before;
    }

    @ForceInline
    private static void spend(long at, int word, int bytecodes) {
        long left = left() - bytecodes;
        setLeft(left >= 0 ? left : AT_ONCE ? settle(left, at, word) : note(left, at, word));
    }

    /**
     * Writes down that a sample is due in a method that is left, or that a method of its context is left. Returns what
     * is left. This is part of every method: it must be small and call nothing.
     */
    @ForceInline
    private static long note(long left, long at, int word) {
        long chunk = at & ReifiedStack.CHUNK_OF;
        long record = U.getLong(chunk + ReifiedStack.RECORD);
        long place = at + U.getLong(chunk + ReifiedStack.TO_PLACE);
        if (place < U.getLong(record + ReifiedStack.LOWEST)) {
            ReifiedStack.leaveBehind(record, at, place, word);
        }
        return left & ~TAKEN;
    }

    /** A sample is due, here or since some time: takes it; returns what is left. */
    @DontInline
    private static long settle(long left, long at, int word) {
        return stack().take(note(left, at, word));
    }

    @DontInline
    private static int turn(long at, int word, int bytecodes) {
        ReifiedStack stack = stack();
        long left = left();
        if (left < 0) {
            left = stack.take(left);
        }
        if (bytecodes > FLUSH) {
            left -= bytecodes;
            left = left >= 0 ? left : stack.take(note(left, at, word));
            bytecodes = 0;
        }
        setLeft(left);
        return bytecodes;
    }

    @DontInline
    private static long take(long left) {
        return stack().take(left);
    }

    @DontInline
    private static long deepen(long at) {
        return stack().deepen(at);
    }

    /** The seed of every thread's random numbers. */
    static long seed() {
        return U.getLong(Probe.BASE + Layout.HEADER_SEED);
    }

    /** A thread begins to run, or runs already. */
    static void start(Thread thread) {
        ReifiedStack stack = open(Probe.find(thread));
        stack.empty();
        if (Probe.DIRECT) {
            U.putLong(thread, TOP, stack.top);
            U.putLong(thread, LEFT, stack.left);
        }
    }

    /** A thread has ended; its stack waits for the next one, with its cursor. */
    static void end(Thread thread, ReifiedStack stack) {
        if (Probe.DIRECT) {
            stack.left = U.getLong(thread, LEFT);
            U.putLong(thread, TOP, ReifiedStack.SCRATCH + ReifiedStack.FRAMES);
            U.putLong(thread, LEFT, ENDLESS);
        }
        stack.rewind();
    }

    /** What the current thread, which runs no instrumented code, does meanwhile is not the program's. */
    static void aside(boolean begin) {
        ReifiedStack stack = stack();
        stack.aside(begin);
        restore(stack.top, stack.left);
    }
}
