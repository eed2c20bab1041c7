package quipu.runtime;

import jdk.internal.misc.Unsafe;

/**
 * Follows what is added to the arena's chunks of one kind: the nodes of one tree, or the log.
 *
 * <p>A thread may add to them meanwhile, but only to the youngest, and an older chunk's end is final once a younger one
 * is seen.
 */
abstract class Chunks {
    static final Unsafe U = Unsafe.getUnsafe();

    private final int kind;
    private final int tree;
    /** Offset of the first chunk that was not looked at. */
    private long next = Layout.HEADER_SIZE;
    /** The youngest chunk of this kind, and how far it was read; 0 before there is one. */
    private long chunk;
    private long at;

    Chunks(int kind, int tree) {
        this.kind = kind;
        this.tree = tree;
    }

    /** Reads what was added since the last time. The caller has the monitor. */
    final void follow() {
        long used = U.getLongVolatile(null, Probe.BASE + Layout.HEADER_USED);
        while (next < used) {
            long found = Probe.BASE + next;
            next += U.getLong(found + Layout.CHUNK_SIZE);
            if (U.getInt(found + Layout.CHUNK_KIND) == kind && U.getInt(found + Layout.CHUNK_TREE) == tree) {
                readOn();
                chunk = found;
                at = found + Layout.CHUNK_HEADER;
            }
        }
        readOn();
    }

    private void readOn() {
        if (chunk != 0) {
            long end = chunk + U.getLongVolatile(null, chunk + Layout.CHUNK_USED);
            while (at < end) {
                at += read(at);
            }
        }
    }

    /** Reads the entry at an address and returns its size. */
    abstract long read(long address);
}
