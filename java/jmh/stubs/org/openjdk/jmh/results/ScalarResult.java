package org.openjdk.jmh.results;

/** To compile against only. */
public class ScalarResult extends Result<ScalarResult> {
    public ScalarResult(String label, double value, String unit, AggregationPolicy policy) {}
}
