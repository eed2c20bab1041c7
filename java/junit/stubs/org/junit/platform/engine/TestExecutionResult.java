package org.junit.platform.engine;

/** To compile against only. */
public class TestExecutionResult {}
