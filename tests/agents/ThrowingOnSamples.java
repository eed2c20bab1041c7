import quipu.MethodId;
import quipu.SamplingProfiler;

/** Fails in its third sample. */
public class ThrowingOnSamples implements SamplingProfiler {
    private int samples;

    @Override
    public int register(Thread thread) {
        return 1_000;
    }

    @Override
    public synchronized int processSample(MethodId[] mids, int sp) {
        if (++samples == 3) {
            throw new IllegalStateException("enough");
        }
        return 1_000;
    }
}
