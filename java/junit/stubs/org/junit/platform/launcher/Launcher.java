package org.junit.platform.launcher;

/** To compile against only. */
public interface Launcher {
    void execute(LauncherDiscoveryRequest request, TestExecutionListener... listeners);
}
