package org.junit.platform.launcher;

/** To compile against only. */
public interface LauncherDiscoveryRequest {}
