package org.openjdk.jmh.results;

/** To compile against only. */
public abstract class Result<T extends Result<T>> {}
