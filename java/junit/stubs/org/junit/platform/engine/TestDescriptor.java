package org.junit.platform.engine;

import java.util.Optional;

/** As much of the JUnit Platform as the listener needs to be compiled; never part of a jar. */
public interface TestDescriptor {
    Optional<TestSource> getSource();
}
