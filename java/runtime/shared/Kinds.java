package quipu.runtime;

import java.lang.ref.WeakReference;

/**
 * What instructions are about of which only their execution tells: the class of what is made, or locked. Each class that is met
 * at an instruction has a site of its own in the {@link Ledger}.
 */
final class Kinds {
    /** By site. Each thread that meets something new may put it there. */
    private static final Kind[] TABLE = new Kind[1 << 12];
    /** Beyond so many classes, an instruction is not told apart by class. */
    private static final int MOST = 64;

    private Kinds() {}

    /** One class at one instruction. */
    static final class Kind {
        private final int instruction;
        /** The site for objects of this class; 0 if there is no room for it. */
        final int site;
        /** Size of an instance; for arrays less than 0, and the size of elements tells which: 16 for references. */
        final int size;
        /** Not the class itself, which must be able to go. */
        private final WeakReference<Class<?>> of;
        private final Kind next;

        Kind(int instruction, long told, Class<?> of, Kind next) {
            this.instruction = instruction;
            this.site = (int) told;
            this.size = (int) (told >> 32);
            this.of = new WeakReference<Class<?>>(of);
            this.next = next;
        }
    }

    /** What an object is at an instruction. */
    static Kind of(Object object, int instruction) {
        Class<?> type = object.getClass();
        Kind kind = TABLE[instruction & TABLE.length - 1];
        while (kind != null && (kind.instruction != instruction || kind.of.get() != type)) {
            kind = kind.next;
        }
        return kind != null ? kind : meet(object, type, instruction);
    }

    /** The first object of a class. */
    private static Kind meet(Object object, Class<?> type, int instruction) {
        int at = instruction & TABLE.length - 1;
        int known = 0;
        Kind first = TABLE[at];
        for (Kind kind = first; kind != null; kind = kind.next) {
            known += kind.instruction == instruction ? 1 : 0;
        }
        // What the JDK does to keep it is not the program's.
        Cursor cursor = Probe.cursor();
        long slot = Probe.published(cursor);
        long tally = Tally.unread != 0 ? Tally.current() : 0;
        Probe.publish(cursor, cursor.hidden);
        if (tally != 0) {
            Tally.restore(Tally.unread);
        }
        try {
            long told = Natives.kind(instruction, known < MOST ? object : null);
            Kind kind = new Kind(instruction, told, type, first);
            if (known < MOST) {
                TABLE[at] = kind;
            }
            return kind;
        } finally {
            Probe.publish(cursor, slot);
            if (tally != 0) {
                Tally.restore(tally);
            }
        }
    }

    /** Nothing is remembered of classes. */
    static void forget() {
        for (int i = 0; i < TABLE.length; i++) {
            TABLE[i] = null;
        }
    }
}
