package org.openjdk.jmh.profile;

import java.util.Collection;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;

/** As much of JMH as the profiler needs to be compiled; never part of a jar. */
public interface InternalProfiler extends Profiler {
    void beforeIteration(BenchmarkParams benchmark, IterationParams iteration);

    Collection<? extends Result> afterIteration(
            BenchmarkParams benchmark, IterationParams iteration, IterationResult result);
}
