package com.acme;

import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/** Counts words. */
public final class Words {
    private static final Pattern GAP = Pattern.compile("[^\\p{L}]+");

    private Words() {}

    public static Map<String, Integer> count(String text) {
        Map<String, Integer> counts = new TreeMap<>();
        for (String word : GAP.split(text)) {
            if (!word.isEmpty()) {
                counts.merge(word.toLowerCase(Locale.ROOT), 1, Integer::sum);
            }
        }
        return counts;
    }

    public static boolean isPalindrome(String text) {
        String letters = GAP.matcher(text).replaceAll("").toLowerCase(Locale.ROOT);
        return new StringBuilder(letters).reverse().toString().equals(letters);
    }
}
