package org.openjdk.jmh.infra;

/** To compile against only. */
public final class IterationParams {}
