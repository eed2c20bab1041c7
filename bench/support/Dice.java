package bench;

/** Numbers that look random and are the same on every JDK: programs make their inputs with it. */
public final class Dice {
    private long state;

    public Dice(long seed) {
        state = seed * 0x9E3779B97F4A7C15L + 1;
    }

    /** From 0 to below {@code bound}. */
    public int below(int bound) {
        state = state * 6364136223846793005L + 1442695040888963407L;
        return (int) ((state >>> 33) % bound);
    }

    /** A word of a vocabulary in which a few words are frequent, as in natural language. */
    public String word(int vocabulary) {
        int rank = below(1 + below(1 + below(vocabulary)));
        StringBuilder word = new StringBuilder();
        for (int n = rank + 20; n > 0; n /= 20) {
            word.append("bcdfghklmnprstvwxyzj".charAt(n % 20)).append("aeiou".charAt((n * 7 + n / 3) % 5));
        }
        return word.toString();
    }
}
