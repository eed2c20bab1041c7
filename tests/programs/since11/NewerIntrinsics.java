import java.nio.ByteBuffer;
import java.security.Key;
import java.util.Arrays;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import java.util.zip.CRC32C;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** What {@link Intrinsics} does, with what JDK 8 has not. */
public final class NewerIntrinsics {
    static long sink;

    private static void ciphers(int rounds) throws Exception {
        Key chacha = new SecretKeySpec(Intrinsics.bytes(32, 3), "ChaCha20");
        for (int size : new int[] {16, 1008, 6000}) {
            Intrinsics.cipher("ChaCha20-Poly1305", chacha, new IvParameterSpec(Intrinsics.bytes(12, 4)), size + 5, rounds);
        }
    }

    private static void sums(int rounds) {
        for (int size : new int[] {5, 31, 100, 1000}) {
            byte[] data = Intrinsics.bytes(size, 9);
            for (int i = 0; i < rounds; i++) {
                CRC32C sum = new CRC32C();
                sum.update(data);
                ByteBuffer direct = Intrinsics.DIRECT;
                direct.clear().limit(Math.min(size, direct.capacity()));
                sum.update(direct);
                sink += sum.getValue();
            }
        }
    }

    private static void arrays(int rounds) {
        int[] numbers = new Random(10).ints(700).toArray();
        long[] longs = new Random(10).longs(700).toArray();
        byte[] bytes = Intrinsics.bytes(700, 10);
        AtomicReference<String> text = new AtomicReference<>("x");
        for (int i = 0; i < rounds; i++) {
            int[] other = numbers.clone();
            other[i % 700]++;
            long[] otherLongs = longs.clone();
            otherLongs[699 - i % 700]++;
            sink += Arrays.mismatch(numbers, other) + Arrays.compare(longs, otherLongs) + Arrays.mismatch(bytes, bytes.clone());
            sink += ByteBuffer.wrap(bytes).mismatch(Intrinsics.DIRECT.clear()) + Objects.checkIndex(i % 5, 5);
            sink += "  the quick brown fox  ".strip().length() + text.getPlain().length();
            Thread.onSpinWait();
        }
    }

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        Intrinsics.digests(rounds, "SHA3-256");
        ciphers(rounds / 4);
        sums(rounds);
        arrays(rounds * 4);
        System.out.println(sink);
    }
}
