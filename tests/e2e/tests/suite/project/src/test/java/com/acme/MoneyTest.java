package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MoneyTest {
    @ParameterizedTest
    @CsvSource({"1.5, 150", "0.005, 1", "17, 1700", "-3.14, -314"})
    void parses(String text, long cents) {
        assertEquals(new Money(cents), Money.parse(text));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "one", "1,5"})
    void refuses(String text) {
        assertThrows(NumberFormatException.class, () -> Money.parse(text));
    }

    @Test
    void adds() {
        assertEquals(new Money(300), new Money(100).plus(new Money(200)));
    }

    @Test
    void doesNotOverflow() {
        assertThrows(ArithmeticException.class, () -> new Money(Long.MAX_VALUE).plus(new Money(1)));
    }

    @RepeatedTest(3)
    void multiplies() {
        assertEquals(new Money(350), new Money(50).times(7));
    }

    @Test
    void compares() {
        assertTrue(new Money(1).compareTo(new Money(2)) < 0);
    }

    @Test
    void isReadable() {
        assertEquals("12.05", new Money(1205).toString());
    }
}
