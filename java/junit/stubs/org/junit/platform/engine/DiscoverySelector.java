package org.junit.platform.engine;

/** To compile against only. */
public interface DiscoverySelector {}
