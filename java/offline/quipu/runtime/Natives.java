package quipu.runtime;

/** What the agent does for the runtime, without an agent. */
final class Natives {
    private static final Unsafe U = Unsafe.getUnsafe();

    private static final String[] FACTS = {
        "java.version", "java.vendor", "java.vm.name", "java.vm.version", "sun.java.command", "os.name", "os.arch",
    };

    private static final long SIZES = U.reserveMemory(8L * Layout.MAX_METHODS);

    static {
        long base = U.base();
        U.putLong(base + Layout.HEADER_COMMITTED, ArenaFile.commit(Layout.HEADER_SIZE));
        U.putInt(base + Layout.HEADER_VERSION, Layout.VERSION);
        U.putLong(base + Layout.HEADER_LIMIT, ArenaFile.limit());
        U.putLong(base + Layout.HEADER_USED, Layout.HEADER_SIZE);
        U.putInt(base + Layout.HEADER_PID, (int) Long.parseLong(ArenaFile.pid()));
        U.putLong(base + Layout.HEADER_CREATED, now());
        U.putInt(base + Layout.HEADER_STATE, Layout.STATE_RUNNING);
        U.putInt(base + Layout.HEADER_NEXT_TREE, 1);
        U.putLong(base + Layout.HEADER_EVERY, Math.max(1, Options.number("bytecodes", 10_000)));
        U.putLong(base + Layout.HEADER_JITTER, Options.number("jitter", 0));
        U.putLong(base + Layout.HEADER_SEED, Options.number("seed", 0));
        U.storeFence();
        U.putInt(base + Layout.HEADER_MAGIC, Layout.MAGIC);
        for (String fact : FACTS) {
            String value = System.getProperty(fact);
            if (value != null) {
                Log.info(fact.equals("sun.java.command") ? "java.command" : fact, value);
            }
        }
        Log.info("java.feature", Integer.toString(Options.feature()));
        try {
            Runtime.getRuntime().addShutdownHook(new Thread(null, new End(), "quipu"));
        } catch (IllegalStateException alreadyEnding) {
            // The file is the profile even so.
        }
    }

    private Natives() {}

    static long base() {
        return U.base();
    }

    static long sizes() {
        return SIZES;
    }

    static long sink() {
        long bytes = (Layout.CHUNK_HEADER + Layout.SINK_SIZE + Layout.CHUNK_ALIGN - 1) & -Layout.CHUNK_ALIGN;
        return Log.chunk(Layout.CHUNK_PRIVATE, 0, bytes) + Layout.CHUNK_HEADER;
    }

    static boolean direct() {
        return false;
    }

    static long offset(Class<?> type, String field) {
        return U.objectFieldOffset(type, field);
    }

    static int maxDepth() {
        return (int) Math.min(Integer.MAX_VALUE, Math.max(1, Options.number("max-depth", Integer.MAX_VALUE)));
    }

    static boolean sites() {
        return Boolean.parseBoolean(Options.get("sites", "false"));
    }

    static boolean commit(long end) {
        long reached = ArenaFile.commit(end);
        U.putLong(U.base() + Layout.HEADER_COMMITTED, reached);
        return end <= reached;
    }

    static long chunk(int tree, long bytes) {
        return Log.chunk(Layout.CHUNK_NODES, tree, bytes);
    }

    static int group(Thread thread) {
        return Groups.join(thread);
    }

    /** There is one profile only. */
    static void stay(Thread thread, int group) {}

    static void tree(int tree, int group) {
        Log.append(Log.record(Layout.RECORD_TREE, new int[] {tree, group}));
    }

    /** All methods have contexts here. */
    static boolean tallies() {
        return false;
    }

    static long tally(int tree, int root) {
        return 0;
    }

    static long unreadTally() {
        return 0;
    }

    static long ledger(int tree, long entries, long replaces) {
        return 0;
    }

    /** Roots are timed by the agent only, so nothing is ever below one. */
    static void reached(int method) {}

    static long scratch() {
        return (U.allocateMemory(2 * ReifiedStack.CHUNK) + ReifiedStack.CHUNK - 1) & ReifiedStack.CHUNK_OF;
    }

    static long now() {
        return System.currentTimeMillis() * 1_000_000;
    }

    /** Not a lambda, whose machinery would take longer to start than the rest of this. */
    private static final class End implements Runnable {
        @Override
        public void run() {
            long base = U.base();
            U.putLong(base + Layout.HEADER_ENDED, now());
            U.putInt(base + Layout.HEADER_STATE, Layout.STATE_ENDED);
            ArenaFile.end(U.getLong(base + Layout.HEADER_USED));
        }
    }
}
