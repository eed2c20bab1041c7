package quipu.runtime;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** The arena's log: what the reader must know beside the trees. */
final class Log {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final int CHUNK = 64 << 10;
    private static final int LONGEST = 10_000;

    private static long chunk;
    private static long used;
    private static long size;

    private Log() {}

    /** Appends encoded records, all or none; returns their address, or 0 if the arena is full. */
    static synchronized long append(byte[] records) {
        if (used + records.length > size) {
            long wanted = Math.max(CHUNK, Layout.CHUNK_HEADER + records.length);
            wanted = (wanted + Layout.CHUNK_ALIGN - 1) & -Layout.CHUNK_ALIGN;
            long fresh = chunk(Layout.CHUNK_LOG, 0, wanted);
            if (fresh == 0) {
                return 0;
            }
            chunk = fresh;
            size = wanted;
            used = Layout.CHUNK_HEADER;
        }
        long at = chunk + used;
        U.copy(records, at);
        used += records.length;
        U.storeFence();
        U.putLong(chunk + Layout.CHUNK_USED, used);
        return at;
    }

    /** A new chunk; 0 if the arena is full. A monitor, and no lock of our own: the VM gives it back whatever is thrown. */
    static synchronized long chunk(int kind, int tree, long bytes) {
        long at = U.getLong(U.base() + Layout.HEADER_USED);
        if (!Natives.commit(at + bytes)) {
            return 0;
        }
        long chunk = U.base() + at;
        U.putInt(chunk + Layout.CHUNK_KIND, kind);
        U.putInt(chunk + Layout.CHUNK_TREE, tree);
        U.putLong(chunk + Layout.CHUNK_SIZE, bytes);
        U.putLong(chunk + Layout.CHUNK_USED, Layout.CHUNK_HEADER);
        U.storeFence();
        U.putLong(U.base() + Layout.HEADER_USED, at + bytes);
        return chunk;
    }

    static long info(String key, String value) {
        return append(record(Layout.RECORD_INFO, new int[0], key, value));
    }

    /** A record: numbers, then strings in the JVM's UTF-8. */
    static byte[] record(int tag, int[] numbers, String... strings) {
        byte[][] encoded = new byte[strings.length][];
        int payload = 4 * numbers.length;
        for (int i = 0; i < strings.length; i++) {
            encoded[i] = encode(strings[i]);
            payload += 4 + encoded[i].length;
        }
        ByteBuffer record = ByteBuffer.allocate((8 + payload + 7) & ~7).order(ByteOrder.nativeOrder());
        record.putInt(tag).putInt(payload);
        for (int number : numbers) {
            record.putInt(number);
        }
        for (byte[] string : encoded) {
            record.putInt(string.length).put(string);
        }
        return record.array();
    }

    private static byte[] encode(String text) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            new DataOutputStream(bytes).writeUTF(text.length() > LONGEST ? text.substring(0, LONGEST) : text);
        } catch (IOException impossible) {
            throw new IllegalStateException(impossible);
        }
        return Arrays.copyOfRange(bytes.toByteArray(), 2, bytes.size());
    }
}
