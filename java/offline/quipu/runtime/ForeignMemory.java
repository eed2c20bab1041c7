package quipu.runtime;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.Arrays;
import jdk.internal.vm.annotation.ForceInline;

/**
 * The arena as a {@code java.lang.foreign.MemorySegment}, which is reached by reflection once, so that older JDKs can
 * compile this; the accesses are those of {@link VarHandle} constants. An address is an offset in the segment; memory
 * beside the arena is in Java arrays and has negative addresses, whose upper half says which array.
 */
final class ForeignMemory extends Unsafe {
    private static final VarHandle INT, LONG, CHAR, HEAD;
    private static final MethodHandle THREAD_ID;

    /** An address is passed on in ways that make its block visible too: to the same thread, or by a class's initialiser. */
    private static volatile int[][] blocks = new int[16][];
    private static final ArrayDeque<Integer> freed = new ArrayDeque<>();
    private static int used;

    static {
        try {
            Object segment = ArenaFile.mapSegment();
            INT = handle("JAVA_INT", segment);
            LONG = handle("JAVA_LONG", segment);
            CHAR = handle("JAVA_CHAR", segment);
            HEAD = MethodHandles.lookup().findVarHandle(Chain.class, "head", Link.class);
            THREAD_ID = MethodHandles.publicLookup()
                    .findVirtual(Thread.class, "threadId", MethodType.methodType(long.class));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    ForeignMemory() {}

    private static VarHandle handle(String layout, Object segment) throws ReflectiveOperationException {
        Class<?> layouts = Class.forName("java.lang.foreign.ValueLayout");
        Object handle = layouts.getMethod("varHandle").invoke(layouts.getField(layout).get(null));
        Method insert =
                MethodHandles.class.getMethod("insertCoordinates", VarHandle.class, int.class, Object[].class);
        return (VarHandle) insert.invoke(null, handle, 0, new Object[] {segment});
    }

    private static int[] block(long address) {
        return blocks[(int) (address >>> 32) & 0x7FFFFFFF];
    }

    private static int cell(long address) {
        return (int) ((address & 0xFFFFFFFFL) >>> 2);
    }

    @Override
    long base() {
        return 0;
    }

    @Override
    @ForceInline
    int getInt(Object none, long address) {
        return address >= 0 ? (int) INT.get(address) : block(address)[cell(address)];
    }

    @Override
    @ForceInline
    void putInt(Object none, long address, int value) {
        if (address >= 0) {
            INT.set(address, value);
        } else {
            block(address)[cell(address)] = value;
        }
    }

    @Override
    @ForceInline
    long getLong(Object thread, long address) {
        if (thread != null) {
            return id((Thread) thread);
        }
        return address >= 0 ? (long) LONG.get(address) : getInt(address) & 0xFFFFFFFFL | (long) getInt(address + 4) << 32;
    }

    @Override
    @ForceInline
    void putLong(Object none, long address, long value) {
        if (address >= 0) {
            LONG.set(address, value);
        } else {
            putInt(address, (int) value);
            putInt(address + 4, (int) (value >>> 32));
        }
    }

    @Override
    char getChar(long address) {
        return (char) CHAR.get(address);
    }

    @Override
    void putChar(long address, char value) {
        CHAR.set(address, value);
    }

    @ForceInline
    private static long id(Thread thread) {
        try {
            return (long) THREAD_ID.invokeExact(thread);
        } catch (Throwable impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    @Override
    long objectFieldOffset(Class<?> thread, String field) {
        return 0;
    }

    @Override
    long allocateMemory(long bytes) {
        int[] block = new int[(int) (bytes >>> 2)];
        synchronized (freed) {
            Integer free = freed.poll();
            int number = free != null ? free : used++;
            if (number == blocks.length) {
                blocks = Arrays.copyOf(blocks, 2 * number);
            }
            blocks[number] = block;
            return Long.MIN_VALUE | (long) number << 32;
        }
    }

    @Override
    long reserveMemory(long bytes) {
        return allocateMemory(0);
    }

    @Override
    void freeMemory(long address) {
        int number = (int) (address >>> 32) & 0x7FFFFFFF;
        synchronized (freed) {
            blocks[number] = null;
            freed.add(number);
        }
    }

    @Override
    void setMemory(long address, long bytes, byte value) {
        Arrays.fill(block(address), cell(address), cell(address + bytes), value * 0x01010101);
    }

    @Override
    void require(long address, long before, long bytes) {
        int number = (int) (address >>> 32) & 0x7FFFFFFF;
        synchronized (freed) {
            blocks[number] = Arrays.copyOf(blocks[number], (int) (bytes >>> 2));
        }
    }

    @Override
    void copy(byte[] from, long address) {
        int at = 0;
        for (; at + 4 <= from.length; at += 4) {
            putInt(address + at, (from[at] & 0xFF) | (from[at + 1] & 0xFF) << 8 | (from[at + 2] & 0xFF) << 16
                    | from[at + 3] << 24);
        }
        if (at != from.length) {
            throw new IllegalArgumentException("records are padded");
        }
    }

    @Override
    boolean compareAndSetReference(Chain chain, long offset, Object expected, Object value) {
        return HEAD.compareAndSet(chain, (Link) expected, (Link) value);
    }

    @Override
    int getAndAddInt(Object none, long address, int value) {
        return (int) INT.getAndAdd(address, value);
    }

    @Override
    long getAndAddLong(Object none, long address, long value) {
        return (long) LONG.getAndAdd(address, value);
    }

    @Override
    void storeFence() {
        VarHandle.releaseFence();
    }
}
