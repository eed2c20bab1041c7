package quipu;

/**
 * A profiling agent: told of every thread, and called by each thread after a number of bytecodes that it chooses.
 *
 * <p>Start a program with it: {@code quipu run --agent JAR=CLASS -- java ...}. The class needs a public constructor
 * without arguments; one object of it serves all threads, so what they share in it must be safe for that.
 *
 * <p>The agent runs in the middle of the program, on the program's threads. What it calls is not counted, and it is
 * not called again while it runs. It must not wait for the program, and had better not change what the program can
 * see. An agent that throws is reported on standard error and not called again.
 */
public interface ExactProfiler {
    /**
     * A thread has begun to run. Called once by each thread, before it calls {@link #processMCT}.
     *
     * @param thread the calling thread
     * @param root the root of its tree, which may be read at any time and by any thread. Threads that follow each
     *     other may be given the same tree (see {@code --merge-threads}).
     * @return the profiling granularity: the thread executes at most this many bytecodes until it calls
     *     {@link #processMCT} for the first time; less than 1 means 1
     */
    int register(Thread thread, Context root);

    /**
     * The calling thread has executed as many bytecodes as it was told to.
     *
     * @param current what it is executing
     * @return the profiling granularity from now on
     */
    int processMCT(Context current);

    /**
     * Profiling has ended, and the program goes on: somebody who had attached has left. Trees may still be read, but
     * do not change any more. An agent that wants to know when the program ends uses a shutdown hook.
     */
    default void detached() {}
}
