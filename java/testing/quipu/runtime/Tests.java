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

    /**
     * What the outermost calls of a method have done so far, on all threads: their number, bytecodes, calls and
     * allocation instructions on the first line, then the hottest methods below it, each with its own bytecodes. Null
     * if the profile is too large to be read here.
     *
     * @param owner the method's class, with dots
     * @param descriptor null for any
     */
    public static native String work(String owner, String name, String descriptor);
}
