package quipu.runtime;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Groups of threads that use the same trees one after the other. Nobody tells when a thread has ended, so those that
 * have are looked for when as many have begun as were alive the last time.
 */
final class Groups {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final int FEWEST = 64;
    /** Offset of the number of threads behind a record's tag and length. */
    private static final long THREADS = 8 + 8;

    private static final Map<String, long[]> KNOWN = new HashMap<>();
    private static final Class<?> VIRTUAL = virtual();
    private static final String MERGE = Options.get("merge-threads", "name");
    /** Names of the threads to count, with stars; all if empty. */
    private static final String[] WANTED = Options.lines("threads");
    /** Whether contexts are sampled every so many bytecodes. */
    static final boolean SAMPLED = Options.get("bytecodes", null) != null;
    private static List<Thread> alive = new ArrayList<>();
    private static int enough = FEWEST;
    private static int next;

    private Groups() {}

    private static Class<?> virtual() {
        try {
            return Class.forName("java.lang.BaseVirtualThread", false, null);
        } catch (ClassNotFoundException older) {
            return null;
        }
    }

    /** The group of a thread that begins; {@link Cursor#UNCOUNTED}, or -1 if the arena is full. */
    static synchronized int join(Thread thread) {
        alive.add(thread);
        if (alive.size() >= enough) {
            sweep();
        }
        String name = thread.getName();
        if (!wanted(name)) {
            return Cursor.UNCOUNTED;
        }
        int isVirtual = VIRTUAL != null && VIRTUAL.isInstance(thread) ? 1 : 0;
        String pattern = MERGE.equals("never") ? name : MERGE.equals("all") ? "*" : pattern(name);
        String key = isVirtual + pattern;
        long[] known = MERGE.equals("never") ? null : KNOWN.get(key);
        if (known != null) {
            U.getAndAddLong(null, known[1] + THREADS, 1);
            return (int) known[0];
        }
        // The number of threads is a long: one, in its lower half.
        int[] numbers = {next, isVirtual, 1, 0};
        long record = Log.append(Log.record(Layout.RECORD_GROUP, numbers, name, pattern));
        if (record == 0) {
            return -1;
        }
        if (!MERGE.equals("never")) {
            KNOWN.put(key, new long[] {next, record});
        }
        return next++;
    }

    private static void sweep() {
        List<Thread> left = new ArrayList<>();
        for (Thread thread : alive) {
            if (thread.isAlive()) {
                left.add(thread);
            } else {
                Probe.end(thread);
            }
        }
        alive = left;
        enough = Math.max(FEWEST, 2 * left.size());
    }

    /** The name with each run of digits as one {@code #}. */
    private static String pattern(String name) {
        StringBuilder pattern = new StringBuilder(name.length());
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            boolean digit = c >= '0' && c <= '9' || c == '#';
            if (!digit || pattern.length() == 0 || pattern.charAt(pattern.length() - 1) != '#') {
                pattern.append(digit ? '#' : c);
            }
        }
        return pattern.toString();
    }

    private static boolean wanted(String name) {
        for (String pattern : WANTED) {
            if (matches(pattern, name)) {
                return true;
            }
        }
        return WANTED.length == 0;
    }

    /** A star in a pattern stands for anything. */
    private static boolean matches(String pattern, String text) {
        int p = 0, t = 0, star = -1, from = 0;
        while (t < text.length()) {
            char next = p < pattern.length() ? pattern.charAt(p) : 0;
            if (next == '*') {
                star = p++;
                from = t;
            } else if (p < pattern.length() && next == text.charAt(t)) {
                p++;
                t++;
            } else if (star >= 0) {
                p = star + 1;
                t = ++from;
            } else {
                return false;
            }
        }
        while (p < pattern.length() && pattern.charAt(p) == '*') {
            p++;
        }
        return p == pattern.length();
    }
}
