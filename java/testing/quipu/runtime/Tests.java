package quipu.runtime;

/**
 * What a test framework's listener asks of the agent; bound by it. There only if the agent waits for tests, so that
 * the listener does nothing where there is no agent.
 */
public final class Tests {
    private Tests() {}

    /** Begins to count, unless that has begun. */
    public static native void start();

    /**
     * A test is about to begin. What its method has done so far is not its own.
     *
     * @param method kind, declaring class, name and descriptor, with tabs between them
     * @param test what tells this run of the method from others
     */
    public static void begin(String method, String test) {
        begin(method, test, Probe.published(Probe.cursor()));
    }

    /**
     * The test has ended: what its method did since then is told to the reader of the profile.
     *
     * @param method as for {@link #begin(String, String)}
     * @param test as well
     */
    public static void end(String method, String test) {
        end(method, test, Probe.published(Probe.cursor()));
    }

    /** @param near an address in the current thread's tree */
    private static native void begin(String method, String test, long near);

    private static native void end(String method, String test, long near);

    /**
     * What the outermost calls of a method have done so far, on all threads: their number, bytecodes, calls and
     * allocation instructions on the first line, then the hottest methods below it, each with its own bytecodes.
     *
     * @param owner the method's class, with dots
     * @param descriptor null for any
     */
    public static native String work(String owner, String name, String descriptor);
}
