package quipu.runtime;

import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.StampedLock;
import jdk.internal.vm.annotation.ForceInline;

/**
 * Locks that are acquired, and how long they are held: what code calls that locks and unlocks.
 *
 * <p>Each thread has a list of what it holds. What is unlocked is looked for from its end. Monitors are left in the order opposite to
 * that in which they were entered: one that is behind another that is left has been left before, and nothing was told of it. Locks
 * are let go of in any order.
 */
public final class Held {
    private static final int FIRST = 16;
    /** Of more locks at once, those that were acquired first are not timed. */
    private static final int MOST = 1 << 10;

    /** Which profile it is: what threads held in an earlier one is not known to be held now. */
    private static int profile;

    private Held() {}

    /** Another profile begins. */
    static void begin() {
        profile++;
    }

    private static Cursor cursor() {
        Cursor cursor = Probe.cursor();
        if (cursor.lockedIn != profile) {
            cursor.paused = null;
            cursor.locks = null;
            cursor.locked = 0;
            cursor.lockedIn = profile;
        }
        return cursor;
    }

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
        Cursor cursor = cursor();
        if (cursor.tree() == 0) {
            // Threads that are not counted share a cursor: what one of them holds is not to be written down where others do.
            return;
        }
        int site = Kinds.of(lock, instruction).site;
        if (site == 0) {
            return;
        }
        long key = Ledger.key(cursor, site);
        Ledger.add(cursor, key, 1, 0);
        if (cursor.paused == lock) {
            resume();
        }
        int at = cursor.locked;
        if (cursor.locks == null || at == cursor.locks.length) {
            if (at < MOST) {
                grow(cursor);
            } else {
                drop(cursor, MOST / 2);
                at = cursor.locked;
            }
        }
        cursor.locks[at] = lock;
        cursor.lockKeys[at] = key;
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

    /** The same of something that has the methods of a lock, and may be none. */
    public static void enterLock(Object lock, int instruction) {
        try {
            if (lock instanceof Lock) {
                entered(lock, instruction);
            }
        } catch (StackOverflowError | OutOfMemoryError none) {
            // It is not counted.
        }
    }

    @ForceInline
    public static void enterLockIf(boolean acquired, Object lock, int instruction) {
        if (acquired) {
            enterLock(lock, instruction);
        }
    }

    @ForceInline
    public static void enterStamped(long stamp, Object lock, int instruction) {
        if (stamp != 0) {
            enter(lock, instruction);
        }
    }

    /** The thread has let go of a lock, or is about to. */
    public static void exit(Object lock) {
        Cursor cursor = cursor();
        int at = find(cursor, lock);
        if (at < 0) {
            return;
        }
        if (cursor.paused == lock) {
            resume();
        }
        // Where it was acquired, wherever it is let go of.
        Ledger.add(cursor, cursor.lockKeys[at], 0, System.nanoTime() - cursor.lockedSince[at]);
        Object[] locks = cursor.locks;
        int last = cursor.locked - 1;
        if (at < last) {
            remove(cursor, at, isMonitor(lock));
        } else {
            locks[at] = null;
            cursor.locked = at;
        }
    }

    /** The same of something that has the methods of a lock, and may be none. */
    public static void exitLock(Object lock) {
        if (lock instanceof Lock) {
            exit(lock);
        }
    }

    private static boolean isMonitor(Object lock) {
        return !(lock instanceof Lock || lock instanceof StampedLock);
    }

    /** Takes one out, and monitors that are behind it if that is what it is. */
    private static void remove(Cursor cursor, int at, boolean monitors) {
        int to = at;
        for (int from = at + 1; from < cursor.locked; from++) {
            if (!monitors || !isMonitor(cursor.locks[from])) {
                move(cursor, from, to++);
            }
        }
        shorten(cursor, to);
    }

    /** Takes out the first ones. */
    private static void drop(Cursor cursor, int many) {
        for (int from = many; from < cursor.locked; from++) {
            move(cursor, from, from - many);
        }
        shorten(cursor, cursor.locked - many);
    }

    private static void move(Cursor cursor, int from, int to) {
        cursor.locks[to] = cursor.locks[from];
        cursor.lockKeys[to] = cursor.lockKeys[from];
        cursor.lockedSince[to] = cursor.lockedSince[from];
    }

    private static void shorten(Cursor cursor, int locked) {
        for (int i = locked; i < cursor.locked; i++) {
            cursor.locks[i] = null;
        }
        cursor.locked = locked;
    }

    /**
     * The thread is about to let go of a lock until it is notified, however often it has acquired it. Meanwhile there is, in place
     * of the time since which it has had the lock, the time for which it had it.
     */
    public static void pause(Object lock) {
        Cursor cursor = cursor();
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
        Cursor cursor = cursor();
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
        Cursor cursor = cursor();
        for (int i = cursor.locked - 1; i >= 0; i--) {
            if (cursor.locks[i] instanceof Lock) {
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
        long[] keys = new long[size];
        for (int i = 0; i < had; i++) {
            locks[i] = cursor.locks[i];
            since[i] = cursor.lockedSince[i];
            keys[i] = cursor.lockKeys[i];
        }
        // The one that tells whether there is room comes last.
        cursor.lockKeys = keys;
        cursor.lockedSince = since;
        cursor.locks = locks;
    }
}
