package org.junit.jupiter.api.extension;

import java.lang.reflect.Method;

/** To compile against only. */
public interface InvocationInterceptor extends Extension {
    default void interceptTestMethod(
            Invocation<Void> invocation, ReflectiveInvocationContext<Method> method, ExtensionContext context)
            throws Throwable {}

    default void interceptTestTemplateMethod(
            Invocation<Void> invocation, ReflectiveInvocationContext<Method> method, ExtensionContext context)
            throws Throwable {}

    /** To compile against only. */
    interface Invocation<T> {
        T proceed() throws Throwable;
    }
}
