package org.junit.platform.engine;

/** As much of the JUnit Platform as the listener needs to be compiled; never part of a jar. */
public interface Filter<T> {
    FilterResult apply(T object);
}
