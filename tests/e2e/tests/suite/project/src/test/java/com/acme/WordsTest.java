package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;

class WordsTest {
    @Test
    void countsNothing() {
        assertTrue(Words.count("").isEmpty());
    }

    @Test
    void countsWords() {
        assertEquals(Map.of("the", 2, "cord", 1, "knot", 1), Words.count("The cord, the knot."));
    }

    @Test
    void countsManyWords() {
        assertEquals(3, Words.count("one two three ".repeat(100)).size());
    }

    @Test
    void findsPalindromes() {
        assertTrue(Words.isPalindrome("Never odd or even"));
    }

    @Test
    void findsOthers() {
        assertFalse(Words.isPalindrome("Sometimes odd"));
    }
}
