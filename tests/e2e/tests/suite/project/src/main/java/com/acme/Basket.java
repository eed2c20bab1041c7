package com.acme;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** What a customer wants. */
public final class Basket {
    private final Map<String, Integer> counts = new LinkedHashMap<>();
    private final Catalogue catalogue;

    public Basket(Catalogue catalogue) {
        this.catalogue = catalogue;
    }

    public Basket add(String article, int count) {
        if (count <= 0) {
            throw new IllegalArgumentException("a count of " + count);
        }
        counts.merge(article, count, Integer::sum);
        return this;
    }

    public void remove(String article) {
        counts.remove(article);
    }

    public int size() {
        return counts.values().stream().mapToInt(Integer::intValue).sum();
    }

    public Money total() {
        Money total = Money.NOTHING;
        for (Map.Entry<String, Integer> entry : counts.entrySet()) {
            total = total.plus(catalogue.price(entry.getKey()).times(entry.getValue()));
        }
        return total;
    }

    /** The dearest article; the name decides between equals. */
    public String dearest() {
        List<String> names = new ArrayList<>(counts.keySet());
        names.sort(Comparator.comparing(catalogue::price).reversed().thenComparing(Comparator.naturalOrder()));
        return names.isEmpty() ? null : names.get(0);
    }

    public String describe() {
        return counts.entrySet().stream()
                .map(entry -> entry.getValue() + " x " + entry.getKey())
                .collect(Collectors.joining(", "));
    }
}
