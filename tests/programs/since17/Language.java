import java.io.Serializable;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** The language, feature by feature. */
public class Language {
    static final List<String> LOG = new ArrayList<>();

    static int log(String what) {
        LOG.add(what);
        return LOG.size();
    }

    // Constructors.
    static class Base {
        final int value;

        Base(int value, Object... rest) {
            if (value < 0) {
                throw new IllegalArgumentException("negative");
            }
            this.value = value + rest.length;
            hook();
        }

        void hook() {
            log("base");
        }
    }

    static class Derived extends Base {
        private final String name;

        Derived(int n, boolean flag) {
            super(flag ? new Derived(n - 1).value + log("t") : n > 3 ? pick(n, new int[] {1, 2, 3}) : new Base(n).value,
                    new Object[] {new Derived(1), flag ? "x" : new StringBuilder("y").append(n)});
            name = flag ? "a" : "b";
        }

        Derived(int n) {
            super(n, n == 0 ? new Object[0] : new Object[n & 3]);
            name = "n" + n;
        }

        Derived(String text) {
            this(Integer.parseInt(text));
            log(name);
        }

        private static int pick(int n, int[] from) {
            return from[n % from.length];
        }

        @Override
        void hook() {
            log("derived " + (name == null));
        }
    }

    static void constructors() {
        new Derived(5, true);
        new Derived(5, false);
        new Derived(2, false);
        new Derived("7");
        for (String bad : new String[] {"-1", "x", null}) {
            try {
                new Derived(bad);
            } catch (RuntimeException expected) {
                log(expected.getClass().getName());
            }
        }
        try {
            new Derived(0, true);
        } catch (IllegalArgumentException expected) {
            log("from super arguments");
        }
    }

    // Initialisers.
    static class First {
        static int x = log("First");
    }

    static class Second extends First {
        static final int CONSTANT = 7;
        static int y = log("Second") + Third.z;
    }

    static class Third {
        static int z = log("Third") + Second.y;
    }

    static class Fails {
        static int x = log("Fails") / (LOG.size() - LOG.size());
    }

    interface WithDefault {
        int FIELD = log("WithDefault");

        default int twice(int n) {
            return 2 * plus(n);
        }

        int plus(int n);

        static int help(int n) {
            return secret(n) + 1;
        }

        private static int secret(int n) {
            return n * n;
        }
    }

    record Adder(int by) implements WithDefault, Serializable {
        @Override
        public int plus(int n) {
            return n + by;
        }
    }

    static void initialisers() {
        log("" + Second.CONSTANT);
        log("" + Second.x);
        log("" + Second.y);
        for (int i = 0; i < 3; i++) {
            try {
                log("" + Fails.x);
            } catch (ExceptionInInitializerError | NoClassDefFoundError expected) {
                log(expected.getClass().getName());
            }
        }
        WithDefault five = new Adder(5);
        log(five.twice(3) + WithDefault.help(4) + five.toString() + five.equals(new Adder(5)) + five.hashCode());
        log("" + WithDefault.FIELD);
    }

    // Statements.
    static int finallies(int n) {
        int result = 0;
        for (int i = 0; i < n; i++) {
            try {
                try {
                    if (i % 3 == 0) {
                        continue;
                    }
                    if (i % 5 == 0) {
                        throw new IllegalStateException();
                    }
                    result += i;
                } finally {
                    result++;
                    if (i == n - 1) {
                        return result;
                    }
                }
            } catch (IllegalStateException expected) {
                result += 100;
            }
        }
        return -1;
    }

    static String strings(String s) {
        return switch (s) {
            case "Aa", "BB" -> "same hash";
            case "C" -> "c";
            case "" -> "empty";
            default -> "?" + s.length();
        };
    }

    enum Colour {
        RED, GREEN {
            @Override
            int weight() {
                return 10;
            }
        }, BLUE;

        int weight() {
            return ordinal();
        }
    }

    static int switches(int n) {
        int sum = 0;
        for (int i = -n; i < n; i++) {
            switch (i) {
                case 0, 1, 2:
                    sum += 1;
                case 3:
                    sum += 3;
                    break;
                case 1000:
                case -1000:
                    sum = 0;
                    break;
                default:
                    sum--;
            }
        }
        for (Colour c : Colour.values()) {
            sum += switch (c) {
                case RED -> 1;
                case GREEN -> c.weight();
                case BLUE -> Colour.valueOf("RED").weight();
            };
        }
        return sum;
    }

    static synchronized int locked(int n) {
        return n <= 0 ? n / (n & 0) : n - 1;
    }

    synchronized int lockedToo(int n) {
        synchronized (LOG) {
            return n == 0 ? 0 : lockedToo(n - 1) + 1;
        }
    }

    static int varargs(int first, Object... rest) {
        return rest == null ? first : first + rest.length;
    }

    static long fibonacci(int n) {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }

    static int ackermann(int m, int n) {
        return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
    }

    static void statements() {
        log("" + finallies(17) + strings("Aa") + strings("BB") + strings("") + strings("zz") + switches(6));
        log("" + varargs(1) + varargs(1, 2, 3) + varargs(1, (Object[]) null) + fibonacci(12) + ackermann(2, 3));
        try {
            locked(5);
            locked(0);
        } catch (ArithmeticException expected) {
            log("" + new Language().lockedToo(20));
        }
        int[][] grid = new int[4][5];
        long product = 1L;
        double d = 0.5;
        outer:
        for (int[] row : grid) {
            for (int i = 0; ; i++) {
                if (i == row.length) {
                    continue outer;
                }
                row[i] = i * i;
                product = product * 31 + row[i] >>> 1;
                d += Math.sqrt(product % 100) + (float) i;
                if (d > 1e6) {
                    break outer;
                }
            }
        }
        log("" + product + (d > 3) + (char) (product % 26 + 'a'));
    }

    // Objects.
    class Inner {
        int n = LOG.size();

        class Innermost {
            int sum() {
                return n + Inner.this.n + outer;
            }
        }
    }

    private int outer = 3;

    sealed interface Shape permits Circle, Square {}

    record Circle(double radius) implements Shape {}

    record Square(double side) implements Shape {}

    static double area(Shape s) {
        if (s instanceof Circle c && c.radius() > 0) {
            return c.radius() * c.radius() * 3;
        }
        return s instanceof Square q ? q.side() * q.side() : 0;
    }

    static void objects() {
        Language language = new Language();
        Inner inner = language.new Inner();
        log("" + inner.new Innermost().sum() + area(new Circle(2)) + area(new Square(3)) + area(new Circle(0)));
        int captured = LOG.size();
        Supplier<Integer> local = new Supplier<>() {
            private final int twice = captured * 2;

            @Override
            public Integer get() {
                return twice + captured;
            }
        };
        Supplier<Supplier<Integer>> nested = () -> () -> captured + local.get();
        log("" + local.get() + nested.get().get());
        Runnable method = language::hashLess;
        method.run();
    }

    void hashLess() {
        outer++;
    }

    // Indirection.
    /** One method only: the VM keeps several in the order of their names' addresses, which differs from run to run. */
    interface Greeter {
        String greet(String name);
    }

    static String hello(String name) {
        return "hello " + name;
    }

    static void indirection() throws Throwable {
        Method hello = Language.class.getDeclaredMethod("hello", String.class);
        for (int i = 0; i < 40; i++) {
            log((String) hello.invoke(null, "r" + i));
        }
        MethodHandle handle = MethodHandles.lookup()
                .findStatic(Language.class, "hello", MethodType.methodType(String.class, String.class));
        log((String) handle.invokeExact("h"));
        log((String) handle.bindTo("bound").invoke());
        log((String) MethodHandles.filterReturnValue(handle, handle).invoke("f"));
        InvocationHandler handler = (proxy, method, args) -> method.getName() + hello((String) args[0]);
        Greeter greeter = (Greeter) Proxy.newProxyInstance(
                Language.class.getClassLoader(), new Class<?>[] {Greeter.class}, handler);
        log(greeter.greet("p") + greeter.greet("q"));
        Language made = Language.class.getDeclaredConstructor().newInstance();
        log("" + made.outer);
        Class.forName("Language$Loaded");
    }

    static class Loaded {
        static {
            log("Loaded");
            hello("from initialiser");
        }
    }

    public static void main(String[] args) throws Throwable {
        constructors();
        initialisers();
        statements();
        objects();
        indirection();
        System.out.println(LOG.size() + " " + String.join(",", LOG).length());
    }
}
