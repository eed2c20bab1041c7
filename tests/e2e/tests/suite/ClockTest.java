package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class ClockTest {
    @Test
    void dependsOnTheClock() {
        long times = System.nanoTime() % 1009;
        for (long i = 0; i < times; i++) {
            assertEquals(1, Sorting.find(new int[] {1, 2, 3}, 2));
        }
    }
}
