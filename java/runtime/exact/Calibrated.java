package quipu.runtime;

/**
 * A loop over small methods. It is defined twice, as it is and with the code that counts: what one takes longer than the
 * other is what that code costs.
 */
final class Calibrated {
    /** Calls in one round of the loop. */
    private static final int CALLS = 5;

    private static int sink;

    /** Nanoseconds that so many rounds take. */
    static long time(int rounds) {
        long began = System.nanoTime();
        sink = run(rounds);
        return System.nanoTime() - began;
    }

    static int calls() {
        return CALLS;
    }

    private static int run(int rounds) {
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
