package quipu.runtime;

/**
 * A loop over small methods. It is defined twice, as it is and with the code that counts: what one takes longer than the
 * other is what that code costs.
 */
final class Calibrated {
    /** Calls in one round of the loop. */
    private static final int CALLS = 5;

    private static int sink;

    /** Rounds of one call of the loop: few, so that it is soon compiled as a whole, and not in the middle of a long one. */
    private static final int SHORT = 500;

    /** So many rounds; the one who calls looks at the clock. */
    static void run(int rounds) {
        for (int i = 0; i < rounds; i += SHORT) {
            sink = loop(SHORT);
        }
    }

    static int calls() {
        return CALLS;
    }

    private static int loop(int rounds) {
        int sum = sink;
        for (int i = 0; i < rounds; i++) {
            sum += outer(sum);
        }
        return sum;
    }

    private static int outer(int n) {
        return inner(n) + inner(n + 1);
    }

    private static int inner(int n) {
        return leaf(n) ^ n;
    }

    private static int leaf(int n) {
        return n * 31 + 7;
    }
}
