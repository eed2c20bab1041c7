package org.junit.platform.launcher;

import java.util.Optional;
import org.junit.platform.engine.TestSource;

/** To compile against only. */
public final class TestIdentifier {
    private TestIdentifier() {}

    public native String getUniqueId();

    public native String getDisplayName();

    public native Optional<TestSource> getSource();

    public native boolean isTest();
}
