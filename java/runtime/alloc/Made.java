package quipu.runtime;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/** Objects and arrays that are made: what code calls that makes them. */
public final class Made {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** What sizes are multiples of, less one. */
    private static final long ROUND;
    /** Where elements of arrays begin. */
    private static final long BYTES, CHARS, INTS, LONGS, REFERENCES;
    private static final int REFERENCE_SHIFT;

    static {
        // By sizes alone: what `Unsafe` calls these is not the same in all releases.
        long empty = Natives.sizeOf(new byte[0]);
        int length = 1;
        while (Natives.sizeOf(new byte[length]) == empty) {
            length++;
        }
        ROUND = Natives.sizeOf(new byte[length]) - empty - 1;
        BYTES = empty - (length - 1);
        length = 1;
        while (Natives.sizeOf(new char[length]) == Natives.sizeOf(new char[0])) {
            length++;
        }
        CHARS = Natives.sizeOf(new char[0]) - 2 * (length - 1);
        length = 1;
        while (Natives.sizeOf(new int[length]) == Natives.sizeOf(new int[0])) {
            length++;
        }
        INTS = Natives.sizeOf(new int[0]) - 4 * (length - 1);
        length = 1;
        while (Natives.sizeOf(new long[length]) == Natives.sizeOf(new long[0])) {
            length++;
        }
        LONGS = Natives.sizeOf(new long[0]) - 8 * (length - 1);
        // So many that what is rounded does not matter.
        int many = 1 << 10;
        REFERENCE_SHIFT = Natives.sizeOf(new Object[many]) >= 8L * many ? 3 : 2;
        length = 1;
        while (Natives.sizeOf(new Object[length]) == Natives.sizeOf(new Object[0])) {
            length++;
        }
        REFERENCES = Natives.sizeOf(new Object[0]) - ((long) (length - 1) << REFERENCE_SHIFT);
    }

    private static final long KLASS = Natives.klassOffset();
    private static final long LAYOUT = Natives.layoutOffset();

    private Made() {}

    /** An instance, whose size the reader knows. */
    @ForceInline
    public static void count(int site) {
        Ledger.count(site);
    }

    @ForceInline
    public static void bytes(int length, int site) {
        array(length, site, BYTES, 0);
    }

    @ForceInline
    public static void chars(int length, int site) {
        array(length, site, CHARS, 1);
    }

    @ForceInline
    public static void ints(int length, int site) {
        array(length, site, INTS, 2);
    }

    @ForceInline
    public static void longs(int length, int site) {
        array(length, site, LONGS, 3);
    }

    @ForceInline
    public static void references(int length, int site) {
        array(length, site, REFERENCES, REFERENCE_SHIFT);
    }

    @ForceInline
    private static void array(int length, int site, long base, int shift) {
        // An array of a negative length is not made.
        if (length >= 0) {
            Ledger.add(site, size(length, base, shift));
        }
    }

    @ForceInline
    private static long size(int length, long base, int shift) {
        return base + ((long) length << shift) + ROUND & ~ROUND;
    }

    /** Something of any class; arrays of arrays with all arrays in it, of so many levels. */
    @DontInline
    public static void made(Object object, int site, int levels) {
        if (object == null) {
            return;
        }
        Kinds.Kind kind = Kinds.of(object, site);
        if (kind.site != 0) {
            // Of classes that are not told apart, each object has to be looked at.
            Ledger.add(kind.site, kind.size == 0 ? Natives.sizeOf(object) : size(object, kind.size));
        }
        if (levels > 1 && object instanceof Object[]) {
            Object[] arrays = (Object[]) object;
            for (int i = 0; i < arrays.length; i++) {
                made(arrays[i], site, levels - 1);
            }
        }
    }

    private static long size(Object object, int size) {
        switch (size) {
            case -1:
                int length = object instanceof byte[] ? ((byte[]) object).length : ((boolean[]) object).length;
                return size(length, BYTES, 0);
            case -2:
                length = object instanceof char[] ? ((char[]) object).length : ((short[]) object).length;
                return size(length, CHARS, 1);
            case -4:
                length = object instanceof int[] ? ((int[]) object).length : ((float[]) object).length;
                return size(length, INTS, 2);
            case -8:
                length = object instanceof long[] ? ((long[]) object).length : ((double[]) object).length;
                return size(length, LONGS, 3);
            case -16:
                return size(((Object[]) object).length, REFERENCES, REFERENCE_SHIFT);
            default:
                return size;
        }
    }

    /** Size of an instance of a class; 0 if that is not known. */
    static int instance(Class<?> type) {
        if (KLASS < 0 || LAYOUT < 0) {
            return 0;
        }
        long klass = U.getLong(type, KLASS);
        // Interfaces have sizes, too; primitive types have nothing behind them.
        int layout = klass == 0 ? 0 : U.getInt(klass + LAYOUT);
        return layout > 0 ? layout & ~7 : 0;
    }
}
