package quipu.runtime;

import jdk.internal.vm.annotation.ForceInline;

/**
 * Locks that are acquired, and how long they are held: what code calls that locks and unlocks.
 *
 * <p>Each thread has a stack of what it holds. What is unlocked is looked for from its top: an exit that nothing was told of, or
 * that code above it never came to, leaves what is above it, which is dropped then.
 */
public final class Held {
    private static final int FIRST = 16;
    /** Beyond so many locks at once, acquisitions are counted and not timed. */
    private static final int MOST = 1 << 10;

    private Held() {}

    /**
     * The thread has acquired a lock.
     *
     * <p>Between a call of <code>lock</code> and the <code>try</code> behind it nothing may be thrown: the lock would never be
     * let go of. What locked had more stack than this frame takes, so no more can end than what is below it.
     */
    public static void enter(Object lock, int instruction) {
        try {
            entered(lock, instruction);
        } catch (StackOverflowError | OutOfMemoryError none) {
            // It is not counted.
        }
    }

    private static void entered(Object lock, int instruction) {
        if (lock == null) {
            return;
        }
        Cursor cursor = Probe.cursor();
        if (cursor.tree() == 0) {
            // Threads that are not counted share a cursor: what one of them holds is not to be written down where others do.
            return;
        }
        int site = Kinds.of(lock, instruction).site;
        if (site == 0) {
            return;
        }
        Ledger.add(cursor, site, 1, 0);
        if (cursor.paused == lock) {
            resume();
        }
        int at = cursor.locked;
        if (cursor.locks == null || at == cursor.locks.length) {
            if (at >= MOST) {
                return;
            }
            grow(cursor);
        }
        cursor.locks[at] = lock;
        cursor.lockSites[at] = site;
        cursor.lockedSince[at] = System.nanoTime();
        cursor.locked = at + 1;
    }

    /** The same, if it was acquired. */
    @ForceInline
    public static void enterIf(boolean acquired, Object lock, int instruction) {
        if (acquired) {
            enter(lock, instruction);
        }
    }

    /** The thread has let go of a lock, or is about to. */
    public static void exit(Object lock) {
        Cursor cursor = Probe.cursor();
        int at = find(cursor, lock);
        if (at < 0) {
            return;
        }
        if (cursor.paused == lock) {
            resume();
        }
        Ledger.add(cursor, cursor.lockSites[at], 0, System.nanoTime() - cursor.lockedSince[at]);
        Object[] locks = cursor.locks;
        for (int i = at; i < cursor.locked; i++) {
            locks[i] = null;
        }
        cursor.locked = at;
    }

    /**
     * The thread is about to let go of a lock until it is notified, however often it has acquired it. Meanwhile there is, in place
     * of the time since which it has had the lock, the time for which it had it.
     */
    public static void pause(Object lock) {
        Cursor cursor = Probe.cursor();
        if (cursor.paused == lock) {
            return;
        }
        if (cursor.paused != null) {
            turn(cursor, cursor.paused, null);
        }
        if (find(cursor, lock) >= 0) {
            turn(cursor, lock, lock);
        }
    }

    /** It has it again, if it had let go of one: whether it was notified or what it did has thrown. */
    public static void resume() {
        Cursor cursor = Probe.cursor();
        if (cursor.paused != null) {
            turn(cursor, cursor.paused, null);
        }
    }

    /** Makes a time of the moment since which the thread has had a lock, or the other way round. */
    private static void turn(Cursor cursor, Object lock, Object paused) {
        long now = System.nanoTime();
        // From here on nothing is called, so there is stack enough.
        for (int i = cursor.locked - 1; i >= 0; i--) {
            if (cursor.locks[i] == lock) {
                cursor.lockedSince[i] = now - cursor.lockedSince[i];
            }
        }
        cursor.paused = paused;
    }

    /** The thread is about to wait for a condition: of the lock that it has acquired last, of those that have conditions. */
    public static void await() {
        pause(innermost());
    }

    private static Object innermost() {
        Cursor cursor = Probe.cursor();
        for (int i = cursor.locked - 1; i >= 0; i--) {
            if (cursor.locks[i] instanceof java.util.concurrent.locks.Lock) {
                return cursor.locks[i];
            }
        }
        return null;
    }

    private static int find(Cursor cursor, Object lock) {
        int at = cursor.locked - 1;
        while (at >= 0 && cursor.locks[at] != lock) {
            at--;
        }
        return at;
    }

    private static void grow(Cursor cursor) {
        int had = cursor.locked;
        int size = had == 0 ? FIRST : 2 * had;
        Object[] locks = new Object[size];
        long[] since = new long[size];
        int[] sites = new int[size];
        for (int i = 0; i < had; i++) {
            locks[i] = cursor.locks[i];
            since[i] = cursor.lockedSince[i];
            sites[i] = cursor.lockSites[i];
        }
        // The one that tells whether there is room comes last.
        cursor.lockSites = sites;
        cursor.lockedSince = since;
        cursor.locks = locks;
    }
}
