package org.junit.platform.launcher;

import org.junit.platform.engine.TestExecutionResult;

/** As much of the JUnit Platform as the listener needs to be compiled; never part of a jar. */
public interface TestExecutionListener {
    default void testPlanExecutionStarted(TestPlan plan) {}

    default void executionStarted(TestIdentifier identifier) {}

    default void executionFinished(TestIdentifier identifier, TestExecutionResult result) {}
}
