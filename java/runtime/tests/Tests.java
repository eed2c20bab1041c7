package quipu.runtime;

/**
 * What a test framework's listener asks of the agent; bound by it. There only if the agent waits for tests, so that
 * the listener does nothing where there is no agent.
 */
public final class Tests {
    private Tests() {}

    /** Has the table of the thread's own values made before a test asks for it. */
    private static final ThreadLocal<String> KEPT = new ThreadLocal<>();

    /** Begins to count, unless that has begun. */
    public static native void start();

    /**
     * A test is about to begin. What its method has done so far is not its own.
     *
     * @param method kind, declaring class, name and descriptor, with tabs between them
     * @param test what tells this run of the method from others
     */
    public static void begin(String method, String test) {
        draw("begin", method, test);
        KEPT.set(test);
        begin(method, test, Probe.published(Probe.cursor()));
    }

    /**
     * The test has ended: what its method did since then is told to the reader of the profile.
     *
     * @param method as for {@link #begin(String, String)}
     * @param test as well
     */
    public static void end(String method, String test) {
        draw("end", method, test);
        end(method, test, Probe.published(Probe.cursor()));
    }

    /** Random numbers go on from here; null before the first test, when they are the system's. */
    private static long[] drawn;

    private static synchronized void draw(String point, String method, String test) {
        drawn = new long[] {point.hashCode() + 31L * (method.hashCode() + 31L * test.hashCode())};
    }

    /**
     * Called by the system's random number generator: what it has drawn is replaced by numbers that depend on the test
     * alone. Each test has others, so that names made of them stay different.
     */
    public static synchronized void chance(byte[] numbers) {
        if (drawn == null) {
            return;
        }
        // Steele, Lea and Flood's SplitMix.
        long bits = 0;
        for (int i = 0; i < numbers.length; i++) {
            if ((i & 7) == 0) {
                bits = drawn[0] += 0x9E3779B97F4A7C15L;
                bits = (bits ^ bits >>> 30) * 0xBF58476D1CE4E5B9L;
                bits = (bits ^ bits >>> 27) * 0x94D049BB133111EBL;
                bits ^= bits >>> 31;
            }
            numbers[i] = (byte) (bits >>> ((i & 7) << 3));
        }
    }

    private static long named = System.nanoTime();

    /** A number for the name of a temporary file: always of 19 digits, and another in each run. */
    public static synchronized long temporary(long number) {
        named = named * 6364136223846793005L + System.nanoTime() * 2 + 1;
        return drawn == null ? number : 1_000_000_000_000_000_000L + (named >>> 2);
    }

    /** @param near an address in the current thread's tree */
    private static native void begin(String method, String test, long near);

    private static native void end(String method, String test, long near);

    /** Tells the reader of the profile something. */
    public static native void tell(String key, String value);

    /**
     * What the outermost calls of a method have done so far, on all threads: their number, bytecodes, calls and
     * allocation instructions on the first line, then the hottest methods below it, each with its own bytecodes.
     *
     * @param owner the method's class, with dots
     * @param descriptor null for any
     */
    public static native String work(String owner, String name, String descriptor);
}
