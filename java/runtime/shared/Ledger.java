package quipu.runtime;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * What instructions that are told apart do: how often each was executed by a thread, in which context, and a value that is
 * added up. For kinds that insert code at such instructions: those that make objects, or lock.
 *
 * <p>Each thread has a table of its own in the arena, with an entry for each site in each context in which it was executed. The
 * context is the slot that the thread has published, if contexts are kept.
 */
public final class Ledger {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** A table without room: where threads find nothing that have none yet. */
    static final long NONE = none();

    /** Whether threads publish contexts. */
    static boolean contexts;

    private Ledger() {}

    private static long none() {
        long table = U.allocateMemory(Layout.LEDGER_SIZE);
        U.setMemory(table, Layout.LEDGER_SIZE, (byte) 0);
        return table;
    }

    /** Threads publish contexts from now on, or no more. */
    static void contexts(boolean kept) {
        contexts = kept;
    }

    /** An instruction was executed once. */
    @ForceInline
    public static void count(int site) {
        Cursor cursor = Probe.cursor();
        long entry = entry(cursor, key(cursor, site));
        if (entry != 0) {
            U.putLong(entry + Layout.LEDGER_COUNT, U.getLong(entry + Layout.LEDGER_COUNT) + 1);
        }
    }

    /** An instruction was executed once, which is worth so much. */
    @ForceInline
    public static void add(int site, long value) {
        Cursor cursor = Probe.cursor();
        add(cursor, key(cursor, site), 1, value);
    }

    /** Something that has a key was done so many times, and is worth so much. */
    @ForceInline
    static void add(Cursor cursor, long key, long times, long value) {
        long entry = entry(cursor, key);
        if (entry != 0) {
            U.putLong(entry + Layout.LEDGER_COUNT, U.getLong(entry + Layout.LEDGER_COUNT) + times);
            U.putLong(entry + Layout.LEDGER_VALUE, U.getLong(entry + Layout.LEDGER_VALUE) + value);
        }
    }

    /** The key of a site in the current context. */
    @ForceInline
    static long key(Cursor cursor, int site) {
        return Cursor.words(site, contexts ? context(cursor) : 0);
    }

    /** The entry with a key; 0 if there is no room for it. */
    @ForceInline
    private static long entry(Cursor cursor, long key) {
        long entry = cursor.ledger + Layout.LEDGER_SIZE * (hash(key) & cursor.ledgerMask);
        return U.getLong(entry) == key ? entry : find(cursor, key);
    }

    /** Where the slot is that the thread has published. */
    @ForceInline
    private static int context(Cursor cursor) {
        return (int) ((Probe.published(cursor) - Probe.BASE) >>> Layout.LINK_SHIFT);
    }

    @DontInline
    private static long find(Cursor cursor, long key) {
        return cursor.entry(key);
    }

    @ForceInline
    static int hash(long key) {
        long product = key * 0x9E3779B97F4A7C15L;
        return (int) (product >>> 40);
    }
}
