package org.junit.jupiter.api.extension;

import java.lang.reflect.Executable;

/** To compile against only. */
public interface ReflectiveInvocationContext<T extends Executable> {
    T getExecutable();
}
