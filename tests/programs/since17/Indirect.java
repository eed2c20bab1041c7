import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** A method that reaches others where its code names something else, or nothing. */
public class Indirect {
    static long ring(int n) {
        return n <= 0 ? 0 : ring(n - 1) + 1;
    }

    static class Told {
        private final int n;

        Told(int n) {
            this.n = n;
        }

        @Override
        public String toString() {
            return ring(n) > 1 ? "many" : "few";
        }
    }

    static class Key implements Comparable<Key> {
        private final int n;

        Key(int n) {
            this.n = n;
        }

        @Override
        public int hashCode() {
            return (int) ring(n);
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Key key && ring(key.n) == ring(n);
        }

        @Override
        public int compareTo(Key other) {
            return (int) (ring(n) - ring(other.n));
        }
    }

    record Pair(Key key, Told told, int number) {}

    interface Shown {
        default long shown(int n) {
            return ring(n);
        }
    }

    static class Above {
        static final long FIRST = ring(1);

        long inherited(int n) {
            return ring(n);
        }
    }

    /** Loaded before the class and the interface above it. */
    static class Made extends Above implements Shown {
        static long second = ring(2);
        final long third = ring(3);
    }

    static class Held {
        static long value = ring(4);
    }

    static class Called {
        static {
            ring(5);
        }

        static long called(int n) {
            return ring(n);
        }
    }

    static class New {
        static final long VALUE = ring(6);

        static New make() {
            return new New();
        }
    }

    public static class Reflected {
        final long n;

        public Reflected() {
            n = ring(2);
        }

        public Reflected(int n) {
            this.n = ring(n);
        }

        public long fails(int n) {
            throw new IllegalStateException("after " + ring(n));
        }
    }

    static long fails(int n) {
        throw new IllegalStateException("after " + ring(n));
    }

    static long after(int n) {
        return ring(n);
    }

    static long initialised(int i) {
        Made made = new Made();
        long sum = made.third + made.inherited(i % 2) + made.shown(1) + Held.value + Called.called(i % 2);
        java.util.function.Supplier<New> maker = New::make;
        return sum + (maker.get() == null ? 1 : 0);
    }

    static long texts(int i) {
        String text = "it is " + new Told(i % 3) + " and " + i;
        Pair pair = new Pair(new Key(i % 4), new Told(2), i);
        Pair other = new Pair(new Key(i % 4), new Told(2), i);
        return text.length() + pair.toString().length() + pair.hashCode() + (pair.equals(other) ? 1 : 0);
    }

    static long bridges(int i) {
        List<Key> keys = new ArrayList<>(List.of(new Key(i % 3), new Key(1)));
        Collections.sort(keys);
        return keys.get(0).n;
    }

    @SuppressWarnings("deprecation")
    static long reflection(int i) throws Exception {
        long sum = Reflected.class.getConstructor(int.class).newInstance(i % 3).n;
        return sum + Reflected.class.newInstance().n;
    }

    /** What is thrown goes through native frames and those of reflection, and is caught there or in code of method handles. */
    static long thrown(int i) throws Throwable {
        long sum = 0;
        try {
            Reflected.class.getMethod("fails", int.class).invoke(new Reflected(), i % 2);
        } catch (ReflectiveOperationException e) {
            sum += after(2);
        }
        sum += (long) CAUGHT.invokeExact(i % 2);
        sum += after(1);
        try {
            fails(1);
        } catch (IllegalStateException e) {
            sum += after(0);
        }
        return sum;
    }

    static final MethodHandle CAUGHT = caught();

    private static MethodHandle caught() {
        try {
            MethodType type = MethodType.methodType(long.class, int.class);
            MethodHandle fails = MethodHandles.lookup().findStatic(Indirect.class, "fails", type);
            MethodHandle handler =
                    MethodHandles.dropArguments(MethodHandles.constant(long.class, 1L), 0, Throwable.class, int.class);
            return MethodHandles.catchException(fails, Throwable.class, handler);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static long place(int i) throws Throwable {
        return initialised(i) + texts(i) + bridges(i) + reflection(i) + thrown(i);
    }

    public static void main(String[] arguments) throws Throwable {
        long sum = 0;
        for (int i = 0; i < Integer.parseInt(arguments[0]); i++) {
            sum += place(i);
        }
        System.out.println("done " + sum);
    }
}
