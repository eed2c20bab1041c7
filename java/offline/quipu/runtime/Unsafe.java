package quipu.runtime;

import jdk.internal.vm.annotation.ForceInline;

/**
 * Memory, as the probes use it. It has the name and the methods of the class that they use inside an agent, so that
 * {@link Probe} and {@link Cursor} are compiled from the same sources for both.
 *
 * <p>Addresses are those of the implementation: real ones, or offsets in the mapped arena.
 */
abstract class Unsafe {
    /** From here on {@code sun.misc.Unsafe} prints a warning when it is used, and will be gone some day. */
    private static final int FIRST_WITHOUT_SUN = 24;

    private static final Unsafe MEMORY = choose();

    static Unsafe getUnsafe() {
        return MEMORY;
    }

    /** By name: the JIT then sees one implementation only, and an old JVM is not shown the new one. */
    private static Unsafe choose() {
        String name = Options.feature() < FIRST_WITHOUT_SUN ? "SunMemory" : "ForeignMemory";
        try {
            return (Unsafe) Class.forName("quipu.runtime." + name).getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Address of the arena. */
    abstract long base();

    abstract int getInt(Object none, long address);

    abstract void putInt(Object none, long address, int value);

    /** Of memory, or of a thread its id: applications can override {@code getId()}. */
    abstract long getLong(Object thread, long address);

    /** Of memory: threads have fields for it only where there is an agent. */
    abstract void putLong(Object none, long address, long value);

    @ForceInline
    final int getInt(long address) {
        return getInt(null, address);
    }

    @ForceInline
    final void putInt(long address, int value) {
        putInt(null, address, value);
    }

    @ForceInline
    final long getLong(long address) {
        return getLong(null, address);
    }

    @ForceInline
    final void putLong(long address, long value) {
        putLong(null, address, value);
    }

    abstract char getChar(long address);

    abstract void putChar(long address, char value);

    /** Where a field is; of a thread, its id. */
    abstract long objectFieldOffset(Class<?> of, String field);

    /** Memory beside the arena. */
    abstract long allocateMemory(long bytes);

    /** Room for memory of which {@link #require} makes a part usable. */
    abstract long reserveMemory(long bytes);

    abstract void freeMemory(long address);

    abstract void setMemory(long address, long bytes, byte value);

    /** Makes more bytes of reserved memory usable; they are zero. */
    abstract void require(long address, long before, long bytes);

    abstract void copy(byte[] from, long address);

    /** Changes the head of a {@link Chain}. */
    abstract boolean compareAndSetReference(Chain chain, long offset, Object expected, Object value);

    abstract int getAndAddInt(Object none, long address, int value);

    abstract long getAndAddLong(Object none, long address, long value);

    abstract void storeFence();
}
