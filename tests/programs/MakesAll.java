import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.function.IntSupplier;

/** Makes known numbers of objects in every way that code has, each in a method of its own, so many times. */
public class MakesAll {
    static class Plain {
        long first;
    }

    static class Copied implements Cloneable {
        int first;

        Object copy() throws CloneNotSupportedException {
            return super.clone();
        }
    }

    public static class Reflected {
        public Reflected() {}
    }

    static class Stored implements Serializable {
        private static final long serialVersionUID = 1;
        int first;
    }

    private static final BigInteger DIGITS = BigInteger.ONE.shiftLeft(1024).subtract(BigInteger.ONE);
    private static final BigInteger FACTOR = DIGITS.subtract(BigInteger.ONE);
    private static final char[] LETTERS = "\u03b1\u03b2\u03b3 and so on".toCharArray();

    private static volatile Object last;

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        new ObjectOutputStream(bytes).writeObject(new Stored());
        byte[] stored = bytes.toByteArray();
        Copied copied = new Copied();
        long[] numbers = {1, 2, 3};
        String[] texts = {"a", "b"};
        Constructor<Reflected> constructor = Reflected.class.getConstructor();
        for (int i = 0; i < rounds; i++) {
            plain();
            unneeded(i);
            primitives();
            references();
            negative();
            arraysOfArrays();
            boxed(i);
            text(i);
            concatenated(i);
            last = copied.copy();
            copies(numbers, texts);
            last = constructor.newInstance();
            last = new ObjectInputStream(new ByteArrayInputStream(stored)).readObject();
            byReflection();
            last = lambda(i);
            last = product();
            last = unicode();
            manyClasses();
        }
        System.out.println("made");
    }

    private static void plain() {
        last = new Plain();
    }

    /** The JIT does without the object. */
    private static long unneeded(int i) {
        Plain plain = new Plain();
        plain.first = i;
        return plain.first;
    }

    private static void primitives() {
        last = new boolean[5];
        last = new char[5];
        last = new double[5];
    }

    private static void references() {
        last = new Plain[5];
    }

    private static void negative() {
        try {
            last = new float[(int) -Math.abs(System.nanoTime() % 2) - 1];
        } catch (NegativeArraySizeException e) {
            return;
        }
        throw new AssertionError();
    }

    private static void arraysOfArrays() {
        last = new int[2][3][4];
        last = new short[2][3][];
    }

    private static void boxed(int i) {
        Long sum = 70_000L + i;
        last = sum > 5 ? Integer.valueOf(100_000 + i) : null;
    }

    private static void text(int i) {
        last = new StringBuilder().append("number ").append(i & 7).toString();
    }

    private static void concatenated(int i) {
        last = "number " + (i & 7) + " of " + i % 10;
    }

    private static void copies(long[] numbers, String[] texts) {
        last = numbers.clone();
        last = Arrays.copyOf(texts, 4);
        last = Arrays.copyOfRange(numbers, 0, 2);
    }

    private static void byReflection() {
        last = Array.newInstance(byte.class, 5);
        last = Array.newInstance(long.class, 2, 3);
    }

    /** The JIT has code of its own for this, which makes the digits. */
    private static BigInteger product() {
        return DIGITS.multiply(FACTOR);
    }

    /** And for this, which makes the bytes. */
    private static String unicode() {
        return new String(LETTERS);
    }

    /** At one instruction. */
    private static void manyClasses() {
        Class<?> type = Plain[].class;
        for (int i = 0; i < 100; i++) {
            Object array = Array.newInstance(type, 0);
            type = array.getClass();
            last = array;
        }
    }

    private static IntSupplier lambda(int i) {
        return () -> i;
    }
}
