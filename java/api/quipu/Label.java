package quipu;

/** On whose behalf a thread works, from {@link Profiler#label} until it is closed by the same thread. */
public final class Label implements AutoCloseable {
    /** Where there is no agent. */
    static final Label NONE = new Label(null, 0);

    private final Profiler.Agent agent;
    private final Thread owner;
    private final int before;
    private boolean open;

    Label(Profiler.Agent agent, int before) {
        this.agent = agent;
        this.before = before;
        this.owner = agent == null ? null : Thread.currentThread();
        this.open = agent != null;
    }

    /** The thread works for whom it worked before. Nothing happens on another thread, or the second time. */
    @Override
    public void close() {
        if (open && Thread.currentThread() == owner) {
            open = false;
            agent.call(agent.end, before);
        }
    }
}
