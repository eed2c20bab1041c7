package quipu.runtime;

/** Is told of samples by the threads that take them; there only while the user has an agent. */
abstract class Watcher {
    /** Whether it has been told of a thread. */
    abstract boolean knows(ReifiedStack stack);

    /** A thread has begun. */
    abstract void register(ReifiedStack stack);

    /** A thread has taken a sample, in the context of this node. */
    abstract void sampled(ReifiedStack stack, int node);

    /** A thread that it knows has ended. */
    abstract void ended(ReifiedStack stack);
}
