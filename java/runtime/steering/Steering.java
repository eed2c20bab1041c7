package quipu.runtime;

/** What {@code quipu.Profiler} asks of the agent; bound by it, so that code which profiles itself runs without one. */
public final class Steering {
    private Steering() {}

    /** Carries out a request of the control socket. Returns why that is impossible, or null. */
    public static native String request(String command);

    /**
     * From now on the calling thread works on behalf of something, beside what it did so far. Returns what to pass to
     * {@link #end}.
     */
    public static native int begin(String key, String value);

    /** The calling thread is back where it was. */
    public static native void end(int before);
}
