package quipu;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/**
 * For code that profiles itself: switches kinds of profiles on and off, and says on whose behalf it works.
 *
 * <pre>
 * Profiler.start("cpu=1000", "wall");
 * try (Label label = Profiler.label("checkout")) {
 *     checkout();
 * }
 * Profiler.stop();
 * </pre>
 *
 * <p>The agent must be there: {@code quipu run --idle -- java ...} brings it in and measures nothing until told to; then
 * {@code quipu report --by label} and {@code quipu report --label label=checkout} tell what was done for whom.
 */
public final class Profiler {
    /** How long it is believed that there is no agent: somebody may attach at any time. */
    private static final long NANOS_WITHOUT = 1_000_000_000L;

    private static volatile Agent agent;
    private static volatile long looked;

    private Profiler() {}

    /** Whether the agent is in this JVM. */
    public static boolean isPresent() {
        return agent() != null;
    }

    /**
     * Switches kinds on, each as {@code quipu ctl start} has it: {@code exact}, {@code cpu}, {@code cpu=1000},
     * {@code wall=50}. Kinds that are on already go on, at the new rate.
     *
     * @throws IllegalStateException if the agent is not in this JVM, or refuses; the message says why
     */
    public static void start(String... kinds) {
        request("start", kinds);
    }

    /**
     * Switches kinds off; all of them if none is named.
     *
     * @throws IllegalStateException if the agent is not in this JVM, or refuses; the message says why
     */
    public static void stop(String... kinds) {
        request("stop", kinds);
    }

    /** The same as {@link #label(String, String)} with the key {@code label}. */
    public static Label label(String value) {
        return label("label", value);
    }

    /**
     * Says that the calling thread works on behalf of something, until the label is closed. What it is sampled doing
     * meanwhile carries the label. Labels may be nested: a sample carries all of them, and of two with the same key the
     * inner one. Without an agent this does nothing. Threads that are started meanwhile have no labels, and neither have
     * virtual threads.
     */
    public static Label label(String key, String value) {
        Agent agent = agent();
        if (agent == null) {
            return Label.NONE;
        }
        int before = (Integer) agent.call(agent.begin, String.valueOf(key), String.valueOf(value));
        return new Label(agent, before);
    }

    private static void request(String command, String[] kinds) {
        Agent agent = agent();
        if (agent == null) {
            throw new IllegalStateException(
                "Quipu's agent is not in this JVM: start it with quipu run --idle -- java ..., or quipu attach");
        }
        StringBuilder line = new StringBuilder(command);
        for (String kind : kinds) {
            line.append(' ').append(kind);
        }
        Object refused = agent.call(agent.request, line.toString());
        if (refused != null) {
            throw new IllegalStateException(refused.toString());
        }
    }

    private static Agent agent() {
        Agent found = agent;
        if (found != null) {
            return found;
        }
        long now = System.nanoTime();
        if (looked != 0 && now - looked < NANOS_WITHOUT) {
            return null;
        }
        looked = now == 0 ? 1 : now;
        return agent = Agent.find();
    }

    /** What the agent offers, found by name: it is in the boot loader, or there is no agent. */
    static final class Agent {
        final Method request;
        final Method begin;
        final Method end;

        private Agent(Class<?> steering) throws ReflectiveOperationException {
            request = steering.getMethod("request", String.class);
            begin = steering.getMethod("begin", String.class, String.class);
            end = steering.getMethod("end", int.class);
        }

        static Agent find() {
            try {
                return new Agent(Class.forName("java.quipu.Steering", true, null));
            } catch (ReflectiveOperationException withoutAgent) {
                return null;
            }
        }

        Object call(Method method, Object... arguments) {
            try {
                return method.invoke(null, arguments);
            } catch (IllegalAccessException | InvocationTargetException impossible) {
                throw new IllegalStateException(impossible);
            }
        }
    }
}
