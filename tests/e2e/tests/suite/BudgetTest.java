package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import quipu.junit.Budget;

class BudgetTest {
    private static final int[] FIRST = {1, 3, 5, 7};

    @Test
    @Budget(bytecodes = 120, calls = 10, allocations = 0)
    void isWithin() {
        assertEquals(2, Sorting.find(FIRST, 5));
    }

    @ParameterizedTest
    @ValueSource(ints = {10, 100})
    @Budget(bytecodes = 2_000)
    void isBeyondWithOneOfTwo(int count) {
        assertEquals(count, Sorting.numbers(count).length);
    }

    @Test
    @Budget(allocations = 1)
    void allocatesTooMuch() {
        assertEquals(2, new int[] {1, 2}.length + new int[0].length);
    }
}
