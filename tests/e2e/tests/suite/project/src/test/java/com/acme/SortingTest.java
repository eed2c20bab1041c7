package com.acme;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SortingTest {
    @Test
    void sortsNothing() {
        assertArrayEquals(new int[0], Sorting.sort(new int[0]));
    }

    @Test
    void sortsOne() {
        assertArrayEquals(new int[] {7}, Sorting.sort(new int[] {7}));
    }

    @Test
    void sortsMany() {
        int[] numbers = Sorting.numbers(500);
        int[] expected = IntStream.of(numbers).sorted().toArray();
        assertArrayEquals(expected, Sorting.sort(numbers));
    }

    @ParameterizedTest
    @ValueSource(ints = {10, 20, 40})
    void sorts(int count) {
        int[] numbers = Sorting.numbers(count);
        int[] expected = IntStream.of(numbers).sorted().toArray();
        assertArrayEquals(expected, Sorting.sort(numbers));
    }

    @TestFactory
    Stream<DynamicTest> findsEach() {
        int[] sorted = Sorting.sort(Sorting.numbers(30));
        return IntStream.range(0, 5).mapToObj(i -> dynamicTest("number " + i, () -> {
            assertEquals(sorted[i], sorted[Sorting.find(sorted, sorted[i])]);
        }));
    }

    @Test
    void findsWhatIsThere() {
        assertEquals(2, Sorting.find(new int[] {1, 3, 5, 7}, 5));
    }

    @Test
    void doesNotFindTheRest() {
        assertEquals(-1, Sorting.find(new int[] {1, 3, 5, 7}, 4));
    }
}
