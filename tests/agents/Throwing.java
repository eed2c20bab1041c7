import quipu.Context;
import quipu.ExactProfiler;

/** Fails in its third activation, or with -Drecursion runs out of stack in every one. */
public class Throwing implements ExactProfiler {
    private int activations;

    @Override
    public int register(Thread thread, Context root) {
        return 1_000;
    }

    @Override
    public synchronized int processMCT(Context current) {
        if (Boolean.getBoolean("recursion")) {
            return 1 + processMCT(current);
        }
        if (++activations == 3) {
            throw new IllegalStateException("enough");
        }
        return 1_000;
    }
}
