package quipu.runtime;

import java.io.File;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.net.URL;
import java.net.URLClassLoader;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import quipu.ExactProfiler;
import quipu.SamplingProfiler;

/**
 * Brings the user's agent in: each thread counts down the bytecodes it executes, ahead of time, and calls the agent
 * when none are left. Code that does so is inserted only while there is an agent.
 *
 * <p>While the agent runs, what its thread calls is hidden from the profile, nothing is counted down and the agent is
 * not called again. Whatever it throws stays here.
 */
public final class Activation {
    /** Bytecodes after which to look again whether the agent can be called. */
    private static final int LATER = 1 << 16;

    private static volatile ExactProfiler agent;
    private static volatile Failures failures;
    /** The same for samples. */
    private static SamplingActivation sampling;

    private Activation() {}

    /** The current thread is about to execute at most this many bytecodes. */
    @ForceInline
    public static void spend(int bytecodes) {
        Probe.cursor().left -= bytecodes;
    }

    /** The same, for methods that keep the cursor. */
    @ForceInline
    public static void spend(Cursor cursor, int bytecodes) {
        cursor.left -= bytecodes;
    }

    /** The same; and if none are left, it is the agent's turn. */
    @ForceInline
    public static void check(Cursor cursor, long node, int bytecodes) {
        if ((cursor.left -= bytecodes) <= 0) {
            activate(cursor, node);
        }
    }

    /** The same in a method that counts: the agent must see what was executed. Returns what is not stored yet. */
    @ForceInline
    public static int check(Cursor cursor, long node, long home, int counted, int bytecodes) {
        if ((cursor.left -= bytecodes) > 0) {
            return counted;
        }
        Probe.count(home, counted);
        activate(cursor, node);
        return 0;
    }

    /** From here on the agent has to wait; returns whether it had to before. */
    @ForceInline
    public static int hold(Cursor cursor) {
        int before = cursor.held;
        cursor.held = 1;
        return before;
    }

    /** Undoes {@link #hold}. */
    @ForceInline
    public static void release(Cursor cursor, int before) {
        cursor.held = before;
    }

    /** From here on nothing is counted down; returns what was left. */
    @ForceInline
    public static int pause(Cursor cursor) {
        int before = cursor.left;
        cursor.left = Integer.MAX_VALUE;
        return before;
    }

    /** Undoes {@link #pause}. */
    @ForceInline
    public static void resume(Cursor cursor, int before) {
        cursor.left = before;
    }

    @DontInline
    private static void activate(Cursor cursor, long node) {
        ExactProfiler current = agent;
        if (current == null || cursor.group < 0 || node == Probe.SINK || node == Probe.NO_THREAD_SINK) {
            cursor.left = LATER;
            return;
        }
        if (cursor.held != 0 || cursor.loads != 0) {
            // Its turn comes later. Until then nothing may overflow.
            cursor.left = Math.max(cursor.left, Integer.MIN_VALUE / 2);
            return;
        }
        long slot = Probe.published(cursor);
        Probe.publish(cursor, cursor.hidden);
        cursor.held = 1;
        // What the agent loads is hidden, too.
        cursor.loads = 1;
        cursor.left = Integer.MAX_VALUE;
        int granularity = LATER;
        try {
            granularity = call(current, cursor, node);
            failures.none();
        } catch (Throwable thrown) {
            if (failures.areTooMany(thrown)) {
                switchOff(current, thrown);
            }
        } finally {
            Probe.publish(cursor, slot);
            cursor.held = 0;
            cursor.loads = 0;
            cursor.left = granularity > 0 ? granularity : 1;
        }
    }

    private static int call(ExactProfiler agent, Cursor cursor, long node) {
        Tree tree = (Tree) cursor.view;
        if (tree == null) {
            cursor.view = tree = new Tree(cursor.tree());
        }
        if (cursor.agent != agent) {
            if (isMachinery(cursor.owner)) {
                return Integer.MAX_VALUE;
            }
            int granularity = agent.register(cursor.owner, new NodeContext(tree, cursor.root()));
            cursor.agent = agent;
            return granularity;
        }
        return agent.processMCT(new NodeContext(tree, Probe.id(node)));
    }

    /**
     * Threads of the JDK that others depend on. Were the agent to wait for a lock on those that carry virtual threads,
     * a virtual thread that holds the lock might never run again.
     */
    static boolean isMachinery(Thread thread) {
        String name = thread.getClass().getName();
        return name.equals("jdk.internal.misc.CarrierThread") || name.startsWith("jdk.internal.misc.InnocuousThread");
    }

    /** Makes the agent. Called while nothing is instrumented; returns its class loader. */
    static Object install(String jar, String name, boolean samples) throws Exception {
        // Its own libraries cannot clash with the program's: it sees the JDK, the API, and its jar.
        ClassLoader platform = ClassLoader.getSystemClassLoader();
        while (platform.getParent() != null) {
            platform = platform.getParent();
        }
        URLClassLoader loader = new URLClassLoader(new URL[] {new File(jar).toURI().toURL()}, platform);
        Object made = Class.forName(name, true, loader).getConstructor().newInstance();
        if (samples) {
            if (!(made instanceof SamplingProfiler)) {
                throw new ClassCastException(name + " does not implement quipu.SamplingProfiler");
            }
            Sampler.watcher = sampling = new SamplingActivation((SamplingProfiler) made);
            return loader;
        }
        if (!(made instanceof ExactProfiler)) {
            String hint = made instanceof SamplingProfiler ? ": give it samples with --bytecodes" : "";
            throw new ClassCastException(name + " does not implement quipu.ExactProfiler" + hint);
        }
        failures = new Failures(made);
        agent = (ExactProfiler) made;
        return loader;
    }

    /** Profiling has ended; nothing is instrumented any more. */
    static void remove() {
        SamplingActivation shown = sampling;
        sampling = null;
        if (shown != null) {
            Sampler.watcher = null;
            shown.remove();
        }
        ExactProfiler current = agent;
        agent = null;
        if (current != null) {
            try {
                current.detached();
            } catch (Throwable thrown) {
                failures.report(thrown);
            }
        }
    }

    private static void switchOff(ExactProfiler failed, Throwable thrown) {
        synchronized (Activation.class) {
            if (agent != failed) {
                return;
            }
            agent = null;
        }
        failures.report(thrown);
    }

    /** What an agent has thrown. */
    static final class Failures {
        /** An agent may run out of stack because the program was about to; if it always does, it is to blame. */
        private static final int MOST_OVERFLOWS = 10;
        /** Of a stack trace. */
        private static final int MOST_FRAMES = 20;

        private final Object agent;
        private volatile int overflows;

        Failures(Object agent) {
            this.agent = agent;
        }

        /** It has worked once more. */
        void none() {
            overflows = 0;
        }

        /** Whether it must be switched off. */
        boolean areTooMany(Throwable thrown) {
            return !(thrown instanceof StackOverflowError) || ++overflows == MOST_OVERFLOWS;
        }

        /** Tells that it was switched off; to standard error, but not through {@code System.err}, which is the program's. */
        void report(Throwable thrown) {
            String text = "quipu: the agent " + agent.getClass().getName() + " failed and is switched off: ";
            String here = Failures.class.getName();
            here = here.substring(0, here.lastIndexOf('.') + 1);
            try {
                text += thrown;
                StackTraceElement[] frames = thrown.getStackTrace();
                for (int i = 0; i < Math.min(frames.length, MOST_FRAMES); i++) {
                    if (frames[i].getClassName().startsWith(here)) {
                        break;
                    }
                    text += "\n\tat " + frames[i];
                }
            } catch (Throwable again) {
                text += thrown.getClass().getName();
            }
            try {
                new FileOutputStream(FileDescriptor.err).write((text + "\n").getBytes());
            } catch (Throwable nobodyListens) {
                // There is no other place to say so.
            }
        }
    }
}
