package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class BasketTest {
    private Basket basket;

    @BeforeEach
    void fill() {
        basket = new Basket(Catalogue.standard());
        for (int i = 0; i < 20; i++) {
            basket.add("article " + i, 1 + i % 3);
        }
    }

    @Test
    void hasSize() {
        assertEquals(39, basket.size());
    }

    @Test
    void adds() {
        assertEquals(44, basket.add("article 3", 5).size());
    }

    @Test
    void removes() {
        basket.remove("article 0");
        assertEquals(38, basket.size());
    }

    @Test
    void hasTotal() {
        assertEquals(new Money(6518), basket.total());
    }

    @Test
    void knowsTheDearest() {
        assertEquals("article 19", basket.dearest());
    }

    @Test
    void isDescribed() {
        assertEquals("1 x article 0, 2 x article 1", basket.describe().substring(0, 28));
    }

    @Test
    void refusesNothing() {
        assertThrows(IllegalArgumentException.class, () -> basket.add("article 0", 0));
    }

    @Test
    void refusesTheUnknown() {
        basket.add("no such article", 1);
        assertThrows(IllegalStateException.class, basket::total);
    }

    @Nested
    class Empty {
        private final Basket empty = new Basket(new Catalogue());

        @Test
        void hasSize() {
            assertEquals(0, empty.size());
        }

        @Test
        void hasTotal() {
            assertEquals(Money.NOTHING, empty.total());
        }

        @Test
        void hasNoDearest() {
            assertNull(empty.dearest());
        }
    }
}
