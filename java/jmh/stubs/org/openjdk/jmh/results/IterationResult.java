package org.openjdk.jmh.results;

/** To compile against only. */
public class IterationResult {}
