package org.junit.platform.launcher;

import java.util.Set;
import org.junit.platform.engine.ConfigurationParameters;

/** To compile against only. */
public class TestPlan {
    public native Set<TestIdentifier> getRoots();

    public native Set<TestIdentifier> getChildren(TestIdentifier parent);

    public native ConfigurationParameters getConfigurationParameters();
}
