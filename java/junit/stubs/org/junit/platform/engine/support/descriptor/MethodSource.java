package org.junit.platform.engine.support.descriptor;

import java.lang.reflect.Method;
import org.junit.platform.engine.TestSource;

/** To compile against only. */
public class MethodSource implements TestSource {
    private MethodSource() {}

    public final native String getClassName();

    public final native String getMethodName();

    public final native Method getJavaMethod();
}
