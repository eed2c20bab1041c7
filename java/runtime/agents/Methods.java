package quipu.runtime;

import java.util.Arrays;
import quipu.MethodId;

/** The methods that have been instrumented, from the arena's log. Names are decoded when they are asked for. */
final class Methods extends Chunks {
    private static final Methods ALL = new Methods();
    private static final MethodId UNKNOWN = MethodId.of("?", "?", "");

    /** Address of each class's and each method's record, by id; 0 if there is none. */
    private long[] classes = new long[1024];
    private long[] methods = new long[1 << 14];
    private MethodId[] names = new MethodId[0];

    private Methods() {
        super(Layout.CHUNK_LOG, 0);
    }

    @Override
    long read(long record) {
        int tag = U.getInt(record);
        int length = U.getInt(record + 4);
        long payload = record + Layout.RECORD_HEADER;
        if (tag == Layout.RECORD_CLASS) {
            classes = put(classes, U.getInt(payload), payload);
        } else if (tag == Layout.RECORD_METHOD) {
            methods = put(methods, U.getInt(payload), payload);
        }
        return Layout.RECORD_HEADER + ((length + 7) & ~7);
    }

    private static long[] put(long[] table, int id, long record) {
        if (id >= table.length) {
            table = Arrays.copyOf(table, Integer.highestOneBit(id) << 1);
        }
        table[id] = record;
        return table;
    }

    /** A method's record; 0 if the log had no room for it. */
    private static long record(int id) {
        synchronized (ALL) {
            if (id >= ALL.methods.length || ALL.methods[id] == 0) {
                ALL.follow();
            }
            return id < ALL.methods.length ? ALL.methods[id] : 0;
        }
    }

    /** A method's name. */
    static MethodId name(int id) {
        long record = record(id);
        if (record == 0) {
            return UNKNOWN;
        }
        synchronized (ALL) {
            if (id >= ALL.names.length) {
                ALL.names = Arrays.copyOf(ALL.names, ALL.methods.length);
            }
            MethodId name = ALL.names[id];
            if (name == null) {
                long owner = ALL.classes[U.getInt(record + 4)];
                long at = record + 16;
                name = MethodId.of(text(owner + 8).replace('/', '.'), text(at), text(skip(at)));
                ALL.names[id] = name;
            }
            return name;
        }
    }

    /** Bytecodes that every call of a method executes and that are not counted otherwise. */
    static int perCall(int id) {
        long record = record(id);
        return record != 0 ? U.getInt(record + 12) : 0;
    }

    /** Whether a method is native, or replaced by the JIT. */
    static boolean isOpaque(int id) {
        long record = record(id);
        return record != 0 && (U.getInt(record + 8) & Layout.METHOD_OPAQUE) != 0;
    }

    /** Opaque methods that every call of a method calls, which have no nodes for that; with repetitions. */
    static int[] derived(int id) {
        long record = record(id);
        if (record == 0) {
            return new int[0];
        }
        long at = record + 16;
        // Behind name, descriptor, lines, sites and blocks.
        for (int i = 0; i < 5; i++) {
            at = skip(at);
        }
        int[] ids = new int[word(at) / 4];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = word(at + 4 + 4 * i);
        }
        return ids;
    }

    private static long skip(long at) {
        return at + 4 + word(at);
    }

    /** An int that need not be aligned. */
    private static int word(long at) {
        int word = 0;
        for (int i = 3; i >= 0; i--) {
            word = word << 8 | U.getByte(at + (Cursor.LITTLE ? i : 3 - i)) & 0xFF;
        }
        return word;
    }

    /** The text at an address, in the JVM's modified UTF-8. */
    private static String text(long at) {
        int length = word(at);
        char[] text = new char[length];
        int n = 0;
        for (int i = 0; i < length; n++) {
            int b = U.getByte(at + 4 + i++) & 0xFF;
            if (b >= 0xE0) {
                int second = U.getByte(at + 4 + i++) & 0x3F;
                b = (b & 0xF) << 12 | second << 6 | U.getByte(at + 4 + i++) & 0x3F;
            } else if (b >= 0xC0) {
                b = (b & 0x1F) << 6 | U.getByte(at + 4 + i++) & 0x3F;
            }
            text[n] = (char) b;
        }
        return new String(text, 0, n);
    }
}
