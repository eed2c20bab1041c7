package com.acme;

import java.math.BigDecimal;
import java.math.RoundingMode;

/** An amount in cents. */
public record Money(long cents) implements Comparable<Money> {
    public static final Money NOTHING = new Money(0);

    public static Money parse(String text) {
        BigDecimal number = new BigDecimal(text.strip());
        return new Money(number.setScale(2, RoundingMode.HALF_UP).unscaledValue().longValueExact());
    }

    public Money plus(Money other) {
        return new Money(Math.addExact(cents, other.cents));
    }

    public Money times(int count) {
        return new Money(Math.multiplyExact(cents, (long) count));
    }

    @Override
    public int compareTo(Money other) {
        return Long.compare(cents, other.cents);
    }

    @Override
    public String toString() {
        return String.format("%d.%02d", cents / 100, cents % 100);
    }
}
