package quipu.runtime;

import jdk.internal.misc.Unsafe;
import quipu.MethodId;
import quipu.SamplingProfiler;

/**
 * Brings the user's agent in that is shown samples. While it runs, what its thread calls is hidden and it is not called
 * again. Whatever it throws stays here.
 *
 * <p>In code that the agent must not interrupt, samples wait until the next one that is taken elsewhere, or until the
 * thread ends.
 */
final class SamplingActivation extends Watcher {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** Samples of a thread that can wait: there is room for so many, and for more if there must be. */
    private static final int WAITING = 1 << 8, MOST_WAITING = 1 << 12;

    /** Bytecodes after which to look again whether the agent can be told of a thread. */
    private static final int LATER = 1 << 10;

    private final SamplingProfiler agent;
    private final Activation.Failures failures;

    SamplingActivation(SamplingProfiler agent) {
        this.agent = agent;
        failures = new Activation.Failures(agent);
    }

    /** What is kept of a thread. */
    private static final class View {
        final SamplingActivation watcher;
        /** Whether the agent is not called by this thread. */
        final boolean quiet;
        MethodId[] mids = new MethodId[64];
        int[] waiting = new int[WAITING];
        int waitings;

        View(SamplingActivation watcher, boolean quiet) {
            this.watcher = watcher;
            this.quiet = quiet;
        }
    }

    @Override
    boolean knows(ReifiedStack stack) {
        return stack.view instanceof View && ((View) stack.view).watcher == this;
    }

    @Override
    void register(ReifiedStack stack) {
        if (stack.held != 0) {
            stack.granularity = LATER;
            return;
        }
        long top = begin(stack);
        try {
            boolean quiet = Activation.isMachinery(stack.cursor.owner);
            stack.granularity = quiet ? 0 : Math.max(1, agent.register(stack.cursor.owner));
            stack.view = new View(this, quiet);
            failures.none();
        } catch (Throwable thrown) {
            stack.granularity = LATER;
            fail(thrown);
        } finally {
            end(stack, top);
        }
    }

    @Override
    void sampled(ReifiedStack stack, int node) {
        View view = (View) stack.view;
        if (view.quiet) {
            return;
        }
        boolean held = stack.held != 0;
        // The last place is for the sample after which none have to wait any more.
        if (view.waitings < view.waiting.length - 1 || !held || extend(view)) {
            view.waiting[view.waitings++] = node;
        } else {
            U.getAndAddLong(null, Probe.BASE + Layout.HEADER_REFUSED, 1);
        }
        if (!held) {
            showWaiting(stack, view);
        }
    }

    /** Makes room for more samples, if there may be more. */
    private static boolean extend(View view) {
        int[] waiting = view.waiting;
        if (waiting.length >= MOST_WAITING) {
            return false;
        }
        try {
            int[] more = new int[2 * waiting.length];
            System.arraycopy(waiting, 0, more, 0, waiting.length);
            view.waiting = more;
        } catch (OutOfMemoryError full) {
            return false;
        }
        return true;
    }

    @Override
    void ended(ReifiedStack stack) {
        View view = (View) stack.view;
        if (view.waitings != 0) {
            showWaiting(stack, view);
        }
    }

    private void showWaiting(ReifiedStack stack, View view) {
        long top = begin(stack);
        try {
            int waitings = view.waitings;
            view.waitings = 0;
            for (int i = 0; i < waitings; i++) {
                show(stack, view, view.waiting[i]);
            }
            failures.none();
        } catch (Throwable thrown) {
            fail(thrown);
        } finally {
            end(stack, top);
        }
    }

    /** From here on what the thread does is the agent's. */
    private static long begin(ReifiedStack stack) {
        long top = Sampler.top();
        stack.held = 1;
        // What the agent loads is hidden, too.
        stack.loads = 1;
        Sampler.hide();
        return top;
    }

    /** Undoes {@link #begin}; how many are left, the method that takes the sample says. */
    private static void end(ReifiedStack stack, long top) {
        Sampler.restore(top, Sampler.ENDLESS);
        stack.loads = 0;
        stack.held = 0;
    }

    private void show(ReifiedStack stack, View view, int node) {
        int length = U.getInt(Probe.address(node) + Layout.NODE_DEPTH);
        if (length > view.mids.length) {
            view.mids = new MethodId[Integer.highestOneBit(length) << 1];
        }
        int at = node;
        for (int i = length - 1; i >= 0; i--) {
            long address = Probe.address(at);
            view.mids[i] = Methods.name(U.getInt(address + Layout.NODE_METHOD) >>> 1);
            at = U.getInt(address + Layout.NODE_PARENT);
        }
        stack.granularity = Math.max(1, agent.processSample(view.mids, length));
    }

    private void fail(Throwable thrown) {
        if (failures.areTooMany(thrown) && Sampler.watcher == this) {
            Sampler.watcher = null;
            failures.report(thrown);
        }
    }

    /** Profiling has ended; nothing is instrumented any more. */
    void remove() {
        try {
            agent.detached();
        } catch (Throwable thrown) {
            failures.report(thrown);
        }
    }
}
