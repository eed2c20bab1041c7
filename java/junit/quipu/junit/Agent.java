package quipu.junit;

import java.lang.reflect.Method;

/** What the agent offers, found by name: it is in the boot loader, or there is no agent. */
final class Agent {
    static final Method START = method("start");
    static final Method BEGIN = method("begin", String.class, String.class);
    static final Method END = method("end", String.class, String.class);
    static final Method TELL = method("tell", String.class, String.class);
    static final Method WORK = method("work", String.class, String.class, String.class);

    private Agent() {}

    private static Method method(String name, Class<?>... parameters) {
        try {
            return Class.forName("java.quipu.Tests").getMethod(name, parameters);
        } catch (ReflectiveOperationException withoutAgent) {
            return null;
        }
    }

    /** Null without an agent. */
    static Object call(Method method, Object... arguments) {
        try {
            return method == null ? null : method.invoke(null, arguments);
        } catch (ReflectiveOperationException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
