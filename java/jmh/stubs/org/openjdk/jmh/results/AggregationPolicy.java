package org.openjdk.jmh.results;

/** To compile against only. */
public enum AggregationPolicy {
    AVG
}
