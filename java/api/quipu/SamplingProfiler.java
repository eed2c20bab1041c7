package quipu;

/**
 * A profiling agent that is shown the calling context of each thread every so many bytecodes, as many as it chooses.
 *
 * <p>Start a program with it: {@code quipu run --bytecodes --agent JAR=CLASS -- java ...}. What {@link ExactProfiler}
 * says of agents holds here too: a public constructor without arguments, one object for all threads; it runs in the
 * middle of the program, must not wait for it, is not sampled itself, and is switched off if it throws.
 */
public interface SamplingProfiler {
    /**
     * A thread has begun to run. Called once by each thread, before it calls {@link #processSample}.
     *
     * @param thread the calling thread
     * @return the profiling granularity: about how many bytecodes the thread executes from one sample to the next; less
     *     than 1 means 1
     */
    int register(Thread thread);

    /**
     * The calling thread has executed as many bytecodes as it was told to.
     *
     * @param mids the methods that were active when it had, the oldest first; only until this call returns, because the
     *     thread uses the array again
     * @param sp how many they are: {@code mids[sp - 1]} is the one that was executing
     * @return the profiling granularity from now on
     */
    int processSample(MethodId[] mids, int sp);

    /** Profiling has ended, and the program goes on: somebody who had attached has left. */
    default void detached() {}
}
