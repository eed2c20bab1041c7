package quipu.runtime;

import java.lang.ref.WeakReference;
import jdk.internal.misc.Unsafe;

/**
 * What instructions are about of which only their execution tells: the class of what is made, or locked. Each class that is met
 * at an instruction has a site of its own in the {@link Ledger}.
 */
final class Kinds {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long KLASS = Natives.klassOffset();

    /** By instruction and class. Each thread that meets something new may put it there. */
    private static final Kind[] TABLE = new Kind[1 << 16];
    /** Those that have met something. */
    private static final Instruction[] INSTRUCTIONS = new Instruction[1 << 12];
    /** Beyond so many classes, those that an instruction meets are not told apart. */
    private static final int MOST = 1 << 12;

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

    /** What an instruction has met. */
    private static final class Instruction {
        final int number;
        /** How many classes: about, as threads that meet one at the same time may not see each other. */
        int met;
        /** For all beyond the most. */
        Kind others;
        final Instruction next;

        Instruction(int number, Instruction next) {
            this.number = number;
            this.next = next;
        }
    }

    /** What an object is at an instruction. */
    static Kind of(Object object, int instruction) {
        Class<?> type = object.getClass();
        int at = place(type, instruction);
        Kind kind = TABLE[at];
        while (kind != null && (kind.instruction != instruction || kind.of.get() != type)) {
            kind = kind.next;
        }
        return kind != null ? kind : meet(object, type, instruction, at);
    }

    private static int place(Class<?> type, int instruction) {
        long klass = KLASS < 0 ? 0 : U.getLong(type, KLASS);
        int hash = instruction * 0x9E3779B1 + (int) (klass >>> 3) * 0x85EBCA6B;
        return (hash ^ hash >>> 15) & TABLE.length - 1;
    }

    /** An object of a class that is in no table. */
    private static Kind meet(Object object, Class<?> type, int instruction, int at) {
        Instruction met = INSTRUCTIONS[instruction & INSTRUCTIONS.length - 1];
        while (met != null && met.number != instruction) {
            met = met.next;
        }
        // What instances of others take is not the same for all.
        if (met != null && met.others != null) {
            return met.others;
        }
        // What the JDK does to keep it is not the program's.
        Cursor cursor = Probe.cursor();
        long slot = Probe.published(cursor);
        long tally = Tally.unread != 0 ? Tally.current() : 0;
        try {
            Probe.publish(cursor, cursor.hidden);
            if (tally != 0) {
                Tally.restore(Tally.unread);
            }
            if (met == null) {
                int place = instruction & INSTRUCTIONS.length - 1;
                INSTRUCTIONS[place] = met = new Instruction(instruction, INSTRUCTIONS[place]);
            }
            if (met.met >= MOST) {
                return met.others = new Kind(instruction, Natives.kind(instruction, null), null, null);
            }
            met.met++;
            return TABLE[at] = new Kind(instruction, Natives.kind(instruction, object), type, TABLE[at]);
        } finally {
            // At the end of the stack, what comes second may be left out. Whoever calls next publishes a slot, but nobody a tally.
            if (tally != 0) {
                Tally.restore(tally);
            }
            Probe.publish(cursor, slot);
        }
    }

    /** Nothing is remembered of classes. */
    static void forget() {
        for (int i = 0; i < TABLE.length; i++) {
            TABLE[i] = null;
        }
        for (int i = 0; i < INSTRUCTIONS.length; i++) {
            INSTRUCTIONS[i] = null;
        }
    }
}
