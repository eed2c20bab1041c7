import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.StandardCharsets;
import java.security.AlgorithmParameters;
import java.security.Key;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.security.Signature;
import java.security.spec.AlgorithmParameterSpec;
import java.security.spec.ECGenParameterSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Calls methods that the JIT replaces by its own code and that are not public, through what is: each often enough to be
 * compiled on the way, and with amounts of data that leave a rest.
 */
public final class Intrinsics {
    static long sink;

    /** Always the same numbers. */
    public static final class Fixed extends SecureRandom {
        private final Random random = new Random(42);

        @Override
        public void nextBytes(byte[] bytes) {
            random.nextBytes(bytes);
        }
    }

    static byte[] bytes(int length, int seed) {
        byte[] bytes = new byte[length];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    static void digests(int rounds, String... names) throws Exception {
        for (String name : names) {
            for (int size : new int[] {1, 100, 1000}) {
                MessageDigest digest = MessageDigest.getInstance(name);
                byte[] data = bytes(size, 1);
                for (int i = 0; i < rounds; i++) {
                    digest.update(data);
                    sink += digest.digest()[0];
                    digest.reset();
                }
            }
        }
    }

    static void cipher(String name, Key key, AlgorithmParameterSpec how, int size, int rounds) throws Exception {
        byte[] data = bytes(size, 2);
        for (int i = 0; i < rounds; i++) {
            Cipher cipher = Cipher.getInstance(name);
            if (how instanceof IvParameterSpec && name.startsWith("ChaCha")) {
                byte[] nonce = ((IvParameterSpec) how).getIV();
                nonce[0] = (byte) i;
                nonce[1] = (byte) (i >> 8);
                how = new IvParameterSpec(nonce);
            } else if (how instanceof GCMParameterSpec) {
                byte[] nonce = ((GCMParameterSpec) how).getIV();
                nonce[0] = (byte) i;
                nonce[1] = (byte) (i >> 8);
                how = new GCMParameterSpec(128, nonce);
            }
            cipher.init(Cipher.ENCRYPT_MODE, key, how);
            byte[] encrypted = cipher.doFinal(data);
            AlgorithmParameters parameters = cipher.getParameters();
            Cipher back = Cipher.getInstance(name);
            if (parameters == null) {
                back.init(Cipher.DECRYPT_MODE, key, how);
            } else {
                back.init(Cipher.DECRYPT_MODE, key, parameters);
            }
            sink += back.doFinal(encrypted)[0];
        }
    }

    private static void ciphers(int rounds) throws Exception {
        Key aes = new SecretKeySpec(bytes(16, 3), "AES");
        for (int size : new int[] {16, 1008, 6000}) {
            cipher("AES/ECB/PKCS5Padding", aes, null, size, rounds);
            cipher("AES/CBC/PKCS5Padding", aes, new IvParameterSpec(bytes(16, 4)), size, rounds);
            cipher("AES/CTR/NoPadding", aes, new IvParameterSpec(bytes(16, 4)), size + 5, rounds);
            cipher("AES/GCM/NoPadding", aes, new GCMParameterSpec(128, bytes(12, 4)), size + 5, rounds);
        }
    }

    private static void numbers(int rounds) {
        BigInteger modulus = new BigInteger(1024, new Random(5)).setBit(0).setBit(1023);
        BigInteger base = new BigInteger(1000, new Random(6));
        BigInteger exponent = new BigInteger(256, new Random(7));
        for (int i = 0; i < rounds / 20 + 1; i++) {
            base = base.modPow(exponent, modulus).add(BigInteger.valueOf(i));
            sink += base.bitLength();
        }
        BigInteger number = new BigInteger(2000, new Random(8));
        for (int i = 0; i < rounds * 5; i++) {
            BigInteger product = number.multiply(number.add(BigInteger.valueOf(i)));
            BigInteger square = number.multiply(number);
            sink += product.shiftLeft(i & 63).shiftRight(17).subtract(square).bitLength();
        }
    }

    private static void encodings(int rounds) {
        for (int size : new int[] {5, 31, 100, 1000}) {
            byte[] data = bytes(size, 9);
            char[] chars = new char[size];
            for (int i = 0; i < size; i++) {
                chars[i] = (char) (data[i] & 0x7f | 0x20);
            }
            String latin = new String(chars);
            String other = latin.substring(size / 2) + '\u00e9' + latin;
            String wide = latin.substring(size / 3) + '\u20ac' + latin;
            byte[] utf8 = other.getBytes(StandardCharsets.UTF_8);
            for (int i = 0; i < rounds; i++) {
                byte[] encoded = Base64.getEncoder().encode(data);
                sink += Base64.getDecoder().decode(encoded).length + Base64.getMimeEncoder().encode(data).length;
                sink += Base64.getUrlDecoder().decode(Base64.getUrlEncoder().encode(data))[0];
                sink += latin.getBytes(StandardCharsets.ISO_8859_1).length + wide.getBytes(StandardCharsets.ISO_8859_1).length;
                sink += latin.getBytes(StandardCharsets.US_ASCII).length + wide.getBytes(StandardCharsets.UTF_16).length;
                sink += new String(utf8, StandardCharsets.UTF_8).length() + new String(data, StandardCharsets.UTF_8).length();
                sink += new String(utf8, StandardCharsets.US_ASCII).length() + new String(chars, 0, size).length();
                sink += StandardCharsets.ISO_8859_1.encode(CharBuffer.wrap(chars)).limit() + StandardCharsets.US_ASCII.encode(other).limit();
                sink += StandardCharsets.UTF_8.encode(other).limit() + StandardCharsets.UTF_8.decode(ByteBuffer.wrap(utf8)).limit();
                CRC32 sum = new CRC32();
                sum.update(data);
                ByteBuffer direct = DIRECT;
                direct.clear();
                direct.limit(Math.min(size, direct.capacity()));
                sum.update(direct);
                sink += sum.getValue();
            }
        }
    }

    static final ByteBuffer DIRECT = ByteBuffer.allocateDirect(64);

    private static void texts(int rounds) {
        String latin = "the quick brown fox jumps over the lazy dog, and then over another lazy dog";
        String wide = latin + "\u20ac" + latin;
        String copy = new String(latin.toCharArray());
        String wideCopy = new String(wide.toCharArray());
        for (int i = 0; i < rounds * 4; i++) {
            char c = (char) ('a' + i % 26);
            sink += latin.indexOf("lazy dog, ") + wide.indexOf("another lazy") + wide.indexOf("\u20acthe") + latin.indexOf('z');
            sink += wide.indexOf('\u20ac') + wide.indexOf(c) + latin.lastIndexOf("over") + latin.indexOf(latin.substring(i % 40));
            sink += latin.compareTo(copy) + latin.compareTo(wide) + wide.compareTo(latin) + wide.compareTo(wideCopy);
            sink += (latin.equals(copy) ? 1 : 0) + (wide.equals(wideCopy) ? 1 : 0) + latin.toUpperCase().length();
            sink += Character.isDigit(c) | Character.isWhitespace(c) | Character.isUpperCase(c) | Character.isLowerCase(c) ? 1 : 0;
            sink += wide.replace(c, 'x').hashCode() + latin.replace("lazy", "very \u20ac lazy").hashCode();
            sink += new StringBuilder(latin).append(wide).append(i).reverse().toString().length();
            sink += wide.substring(0, 20).length() + wide.toCharArray().length + new String(wide).charAt(i % 50);
            sink += String.valueOf(wide.toCharArray(), 3, 40).length() + wide.chars().sum();
            sink += new StringBuffer().append(c).append(i).append(latin).toString().length();
        }
    }

    private static void arrays(int rounds) {
        int[] numbers = new Random(10).ints(700).toArray();
        long[] longs = new Random(10).longs(700).toArray();
        double[] doubles = new Random(10).doubles(700).toArray();
        float[] floats = new float[700];
        for (int i = 0; i < floats.length; i++) {
            floats[i] = (float) doubles[i];
        }
        byte[] bytes = bytes(700, 10);
        char[] chars = new char[700];
        short[] shorts = new short[700];
        for (int i = 0; i < rounds; i++) {
            int[] sorted = numbers.clone();
            Arrays.sort(sorted);
            long[] sortedLongs = longs.clone();
            Arrays.sort(sortedLongs);
            double[] sortedDoubles = doubles.clone();
            Arrays.sort(sortedDoubles);
            float[] sortedFloats = floats.clone();
            Arrays.sort(sortedFloats);
            sink += sorted[0] + sortedLongs[0] + (long) sortedDoubles[0] + (long) sortedFloats[0];
            sorted[i % 700]++;
            sink += (Arrays.equals(numbers, numbers.clone()) ? 1 : 0);
            sink += (Arrays.equals(bytes, bytes.clone()) ? 1 : 0) + (Arrays.equals(chars, chars.clone()) ? 1 : 0);
            sink += Arrays.hashCode(numbers) + Arrays.hashCode(bytes) + Arrays.hashCode(chars) + Arrays.hashCode(shorts);
            sink += Arrays.copyOf(new Object[] {"a", "b"}, 3).length + new ArrayList<>(Arrays.asList(1, 2, 3)).toArray().length;
            sink += Arrays.copyOfRange(new String[] {"a", "b", "c"}, 1, 3).length;
            sink += ByteBuffer.wrap(bytes).compareTo(ByteBuffer.wrap(bytes.clone()));
            sink += IntStream.range(0, 20).sum() + IntStream.range(0, i % 7).boxed().count();
            sink += ByteBuffer.wrap(bytes).getInt(i % 600);
        }
    }

    private static void atomics(int rounds) {
        AtomicInteger number = new AtomicInteger();
        AtomicLong big = new AtomicLong();
        AtomicReference<String> text = new AtomicReference<>("");
        for (int i = 0; i < rounds * 5; i++) {
            sink += number.getAndAdd(i) + number.incrementAndGet() + number.getAndSet(i) + big.getAndAdd(i) + big.getAndSet(i);
            sink += text.getAndSet("x").length() + number.updateAndGet(n -> n + 1);
        }
    }

    private static void keys(int rounds) throws Exception {
        KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
        generator.initialize(new ECGenParameterSpec("secp256r1"), new Fixed());
        KeyPair pair = generator.generateKeyPair();
        for (int i = 0; i < rounds / 10 + 1; i++) {
            Signature signature = Signature.getInstance("SHA256withECDSA");
            signature.initSign(pair.getPrivate(), new Fixed());
            signature.update(bytes(100, i));
            byte[] signed = signature.sign();
            signature.initVerify(pair.getPublic());
            signature.update(bytes(100, i));
            sink += signature.verify(signed) ? 1 : 0;
        }
    }

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        digests(rounds, "MD5", "SHA-1", "SHA-256", "SHA-512");
        ciphers(rounds / 4);
        numbers(rounds);
        encodings(rounds);
        texts(rounds);
        arrays(rounds);
        atomics(rounds);
        keys(rounds);
        System.out.println(sink);
    }
}
