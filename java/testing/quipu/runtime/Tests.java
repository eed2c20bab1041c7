package quipu.runtime;

/**
 * What a test framework's listener asks of the agent; bound by it. There only if the agent waits for tests, so that
 * the listener does nothing where there is no agent.
 */
public final class Tests {
    private Tests() {}

    /** Begins to count, unless that has begun. */
    public static native void start();

    /** Tells the reader of the profile about a test. */
    public static native void note(String test);
}
