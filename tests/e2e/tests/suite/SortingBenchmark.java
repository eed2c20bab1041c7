package com.acme;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.infra.Blackhole;

@State(Scope.Benchmark)
public class SortingBenchmark {
    private final int[] numbers = Sorting.numbers(200);

    @Benchmark
    public int[] sort() {
        return Sorting.sort(numbers);
    }

    @Benchmark
    public void pairs(Blackhole hole) {
        for (int i = 0; i < 10; i++) {
            hole.consume(new int[] {i, i});
        }
    }
}
