package org.openjdk.jmh.profile;

/** To compile against only. */
public interface Profiler {
    String getDescription();
}
