package com.acme;

import java.util.HashMap;
import java.util.Map;

/** Articles and their prices. */
public final class Catalogue {
    private static final Catalogue STANDARD = make();

    private final Map<String, Money> prices = new HashMap<>();

    private static Catalogue make() {
        Catalogue catalogue = new Catalogue();
        for (int i = 0; i < 200; i++) {
            catalogue.put("article " + i, new Money(100 + 7 * i));
        }
        return catalogue;
    }

    public static Catalogue standard() {
        return STANDARD;
    }

    public void put(String article, Money price) {
        prices.put(article, price);
    }

    public Money price(String article) {
        Money price = prices.get(article);
        if (price == null) {
            throw new IllegalStateException("no article " + article);
        }
        return price;
    }
}
