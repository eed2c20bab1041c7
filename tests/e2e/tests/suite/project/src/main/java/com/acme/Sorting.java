package com.acme;

/** Sorts numbers, slowly but surely. */
public final class Sorting {
    private Sorting() {}

    public static int[] sort(int[] numbers) {
        int[] sorted = numbers.clone();
        for (int i = 1; i < sorted.length; i++) {
            insert(sorted, i);
        }
        return sorted;
    }

    private static void insert(int[] sorted, int end) {
        int number = sorted[end];
        int at = end - 1;
        while (at >= 0 && isLess(number, sorted[at])) {
            sorted[at + 1] = sorted[at];
            at--;
        }
        sorted[at + 1] = number;
    }

    private static boolean isLess(int a, int b) {
        return a < b;
    }

    /** Where a number is in a sorted array, or -1. */
    public static int find(int[] sorted, int number) {
        int low = 0;
        int high = sorted.length - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            if (sorted[middle] < number) {
                low = middle + 1;
            } else if (sorted[middle] > number) {
                high = middle - 1;
            } else {
                return middle;
            }
        }
        return -1;
    }

    /** Numbers without pattern, the same each time. */
    public static int[] numbers(int count) {
        int[] numbers = new int[count];
        long state = 42;
        for (int i = 0; i < count; i++) {
            state = state * 6364136223846793005L + 1442695040888963407L;
            numbers[i] = (int) (state >>> 40) % 10_000;
        }
        return numbers;
    }
}
