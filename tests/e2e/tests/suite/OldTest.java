package com.acme;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;

import java.util.Arrays;
import java.util.List;
import org.junit.Before;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;

public class OldTest {
    private int[] numbers;

    @Before
    public void prepare() {
        numbers = Sorting.numbers(1);
    }

    @Test
    public void sortsOne() {
        assertArrayEquals(numbers, Sorting.sort(numbers));
    }

    /** On a thread of its own. */
    @Test(timeout = 200_000)
    public void sortsInTime() {
        assertArrayEquals(numbers, Sorting.sort(numbers));
    }

    @RunWith(Parameterized.class)
    public static class WithParameters {
        @Parameterized.Parameter
        public int count;

        @Parameterized.Parameters
        public static List<Integer> counts() {
            return Arrays.asList(10, 20);
        }

        @Test
        public void sorts() {
            assertEquals(count, Sorting.sort(Sorting.numbers(count)).length);
        }
    }
}
