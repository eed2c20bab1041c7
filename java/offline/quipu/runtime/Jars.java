package quipu.runtime;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * The instrumented jars of this program. Each has a class whose initialiser takes ids here and brings in the names
 * of its methods; the rest of the jar adds what it got to its own numbers. So jars that know nothing of each other, or
 * the same jar in two class loaders, never share an id.
 */
public final class Jars {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final int MAGIC = 'Q' | 'L' << 8 | 'O' << 16 | 'G' << 24;
    private static final int HEADER = 40;
    /** Ids from here on have no size, so their calls are refused: for what finds no more ids. */
    private static final int USABLE = Layout.MAX_METHODS / 2;

    private static int nextMethod = 8;
    private static int nextClass = 1;
    private static long required;

    private Jars() {}

    /** Takes ids; returns what is added to the jar's own method words. */
    public static synchronized int reserve(int count) {
        int first = nextMethod;
        if (count > USABLE - first) {
            Options.complain("more than " + USABLE + " methods: those loaded from now on are not counted");
            first = USABLE;
        } else {
            nextMethod += count;
        }
        long bytes = 8L * (first + count);
        if (bytes > required) {
            U.require(Probe.SIZES, required, bytes);
            required = bytes;
        }
        return 2 * first;
    }

    /** Brings in the methods of a jar, whose class this is. */
    public static void load(Class<?> jar, int word) {
        Cursor cursor = Probe.cursor();
        long slot = cursor.slot;
        // The class loader may be the application's, instrumented itself.
        cursor.slot = cursor.hidden;
        long top = Groups.SAMPLED ? Sampler.top() : 0;
        long left = Groups.SAMPLED ? Sampler.hide() : 0;
        try {
            if (word / 2 < USABLE) {
                enter(read(jar), word / 2, jar.getName());
            }
        } catch (IOException | RuntimeException e) {
            Options.complain("the methods of " + jar.getName() + " are not counted: " + e);
        } finally {
            cursor.slot = slot;
            if (Groups.SAMPLED) {
                Sampler.restore(top, left);
            }
        }
    }

    private static byte[] read(Class<?> jar) throws IOException {
        String name = jar.getName();
        name = name.substring(name.lastIndexOf('.') + 1) + ".log";
        try (InputStream in = jar.getResourceAsStream(name)) {
            if (in == null) {
                throw new IOException("its class loader does not find " + name);
            }
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            byte[] buffer = new byte[1 << 14];
            for (int n; (n = in.read(buffer)) > 0; ) {
                bytes.write(buffer, 0, n);
            }
            return bytes.toByteArray();
        }
    }

    private static synchronized void enter(byte[] bytes, int first, String jar) throws IOException {
        ByteBuffer log = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        if (ByteOrder.nativeOrder() != ByteOrder.LITTLE_ENDIAN) {
            throw new IOException("this machine's byte order is another than the instrumenting machine's");
        }
        if (log.getInt(0) != MAGIC || log.getInt(4) != Layout.VERSION) {
            throw new IOException("it was instrumented by another version than that of quipu-runtime.jar");
        }
        if ((log.getInt(8) != 0) != Probe.sites) {
            throw new IOException("--sites must be given for all jars and for quipu-runtime.jar, or for none");
        }
        int ids = log.getInt(12);
        int records = HEADER + 8 * ids;
        for (int at = records; at < bytes.length; ) {
            int tag = log.getInt(at);
            int payload = at + 8;
            if (tag == Layout.RECORD_CLASS) {
                log.putInt(payload, log.getInt(payload) + nextClass);
            } else if (tag == Layout.RECORD_METHOD) {
                log.putInt(payload, log.getInt(payload) + first);
                log.putInt(payload + 4, log.getInt(payload + 4) + nextClass);
                relocateCallees(log, payload + 16, first);
            }
            at = payload + (log.getInt(at + 4) + 7 & ~7);
        }
        nextClass += log.getInt(16);
        if (Log.append(Arrays.copyOfRange(bytes, records, bytes.length)) == 0) {
            throw new IOException("the arena is full; raise quipu.limit");
        }
        long[] counters = {
            Layout.HEADER_CLASSES, Layout.HEADER_METHODS, Layout.HEADER_CLASSES_LEFT, Layout.HEADER_METHODS_LEFT,
        };
        for (int i = 0; i < counters.length; i++) {
            U.getAndAddLong(null, U.base() + counters[i], log.getInt(20 + 4 * i));
        }
        // The names first: a method without a size is refused, not nameless.
        for (int i = 0; i < ids; i++) {
            long sizes = Probe.SIZES + 8L * (first + i);
            U.putInt(sizes + 4, log.getInt(HEADER + 8 * i + 4));
            U.putInt(sizes, log.getInt(HEADER + 8 * i));
        }
    }

    /** The last two of a method's seven strings have ids of other methods: one after the other, and behind a slot each. */
    private static void relocateCallees(ByteBuffer log, int at, int first) {
        for (int string = 0; string < 5; string++) {
            at += 4 + log.getInt(at);
        }
        int derived = at + 4;
        int leaves = derived + log.getInt(at) + 4;
        for (int id = derived; id < leaves - 4; id += 4) {
            log.putInt(id, log.getInt(id) + first);
        }
        for (int end = leaves + log.getInt(leaves - 4), pair = leaves; pair < end; pair += 8) {
            log.putInt(pair + 4, log.getInt(pair + 4) + first);
        }
    }
}
