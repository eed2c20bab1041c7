package quipu.runtime;

import java.lang.reflect.Field;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import jdk.internal.vm.annotation.ForceInline;

/** Real addresses, on JVMs whose {@code sun.misc.Unsafe} does not complain: as fast as inside an agent. */
final class SunMemory extends Unsafe {
    private static final sun.misc.Unsafe U = unsafe();
    /** Kept, because the mapping goes with it. */
    private static final ByteBuffer ARENA = ArenaFile.mapBuffer();

    private static final long BASE = U.getLong(ARENA, offset(Buffer.class, "address"));

    SunMemory() {}

    private static sun.misc.Unsafe unsafe() {
        try {
            Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return (sun.misc.Unsafe) field.get(null);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static long offset(Class<?> type, String field) {
        try {
            return U.objectFieldOffset(type.getDeclaredField(field));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    long base() {
        return BASE;
    }

    @Override
    @ForceInline
    int getInt(Object none, long address) {
        return U.getInt(null, address);
    }

    @Override
    @ForceInline
    void putInt(Object none, long address, int value) {
        U.putInt(null, address, value);
    }

    @Override
    @ForceInline
    long getLong(Object thread, long address) {
        return U.getLong(thread, address);
    }

    @Override
    @ForceInline
    void putLong(Object none, long address, long value) {
        U.putLong(null, address, value);
    }

    @Override
    char getChar(long address) {
        return U.getChar(address);
    }

    @Override
    void putChar(long address, char value) {
        U.putChar(address, value);
    }

    @Override
    long objectFieldOffset(Class<?> thread, String field) {
        return offset(thread, field);
    }

    @Override
    long allocateMemory(long bytes) {
        return U.allocateMemory(bytes);
    }

    @Override
    long reserveMemory(long bytes) {
        return U.allocateMemory(bytes);
    }

    @Override
    void freeMemory(long address) {
        U.freeMemory(address);
    }

    @Override
    void setMemory(long address, long bytes, byte value) {
        U.setMemory(address, bytes, value);
    }

    @Override
    void require(long address, long before, long bytes) {
        U.setMemory(address + before, bytes - before, (byte) 0);
    }

    @Override
    void copy(byte[] from, long address) {
        U.copyMemory(from, sun.misc.Unsafe.ARRAY_BYTE_BASE_OFFSET, null, address, from.length);
    }

    @Override
    boolean compareAndSetReference(Chain chain, long offset, Object expected, Object value) {
        return U.compareAndSwapObject(chain, offset, expected, value);
    }

    @Override
    int getAndAddInt(Object none, long address, int value) {
        return U.getAndAddInt(null, address, value);
    }

    @Override
    long getAndAddLong(Object none, long address, long value) {
        return U.getAndAddLong(null, address, value);
    }

    @Override
    void storeFence() {
        U.storeFence();
    }
}
