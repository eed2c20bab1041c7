import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.concurrent.Callable;
import java.util.function.IntConsumer;

/** Calls of which half end by an exception, thrown in many ways and caught by callers of many kinds. */
public class Exceptions {
    static int sink;
    static final int KINDS = 6;
    static final int[] FOUR = new int[4];

    static final class OnPurpose extends RuntimeException {
        OnPurpose() {
            super("on purpose", null, false, false);
        }
    }

    /** Throws if {@code i} is odd, in one of {@link #KINDS} ways. */
    static void half(int i) {
        sink++;
        if ((i & 1) == 0) {
            return;
        }
        switch (i / 2 % KINDS) {
            case 0:
                throw new OnPurpose();
            case 1:
                sink = ((int[]) null).length;
                break;
            case 2:
                sink = FOUR[i & 1 | 4];
                break;
            case 3:
                sink = ((String) (Object) i).length();
                break;
            case 4:
                sink = i / (i - i);
                break;
            default:
                deeper(i);
        }
    }

    static void deeper(int i) {
        try {
            throw new OnPurpose();
        } finally {
            sink += i;
        }
    }

    static void after() {
        sink++;
    }

    static void directly(int n) {
        for (int i = 0; i < n; i++) {
            try {
                half(i);
            } catch (RuntimeException expected) {
                sink--;
            }
            after();
        }
    }

    static void byReflection(int n) throws Exception {
        Method half = Exceptions.class.getDeclaredMethod("half", int.class);
        for (int i = 0; i < n; i++) {
            try {
                half.invoke(null, i);
            } catch (InvocationTargetException expected) {
                sink--;
            }
            after();
        }
    }

    static void byHandle(int n) throws Throwable {
        MethodHandle half = MethodHandles.lookup()
                .findStatic(Exceptions.class, "half", MethodType.methodType(void.class, int.class));
        for (int i = 0; i < n; i++) {
            try {
                half.invokeExact(i);
            } catch (RuntimeException expected) {
                sink--;
            }
            after();
        }
    }

    static void byCatchingHandle(int n) throws Throwable {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        MethodHandle half =
                lookup.findStatic(Exceptions.class, "half", MethodType.methodType(void.class, int.class));
        MethodHandle swallow =
                lookup.findStatic(Exceptions.class, "swallow", MethodType.methodType(void.class, RuntimeException.class));
        MethodHandle both = MethodHandles.catchException(half, RuntimeException.class, swallow);
        for (int i = 0; i < n; i++) {
            both.invokeExact(i);
            after();
        }
    }

    static void swallow(RuntimeException expected) {
        sink--;
    }

    static void byLambda(int n) {
        IntConsumer consumer = Exceptions::half;
        IntConsumer wrapped = i -> half(i);
        for (int i = 0; i < n; i++) {
            try {
                (i % 4 < 2 ? consumer : wrapped).accept(i);
            } catch (RuntimeException expected) {
                sink--;
            }
            after();
        }
    }

    static void byConstructor(int n) throws Exception {
        Callable<Object> make = () -> new Object() {
            {
                half(sink);
            }
        };
        for (int i = 0; i < n; i++) {
            sink = i;
            try {
                make.call();
            } catch (RuntimeException expected) {
                sink--;
            }
            after();
        }
    }

    /** Caught by the VM, which calls the handler of uncaught exceptions. */
    static void byThread(int n) throws Exception {
        for (int i = 0; i < n; i++) {
            int number = i;
            Thread thread = new Thread(() -> half(number), "thrower");
            thread.setUncaughtExceptionHandler((t, e) -> after());
            thread.start();
            thread.join();
        }
    }

    public static void main(String[] args) throws Throwable {
        int n = Integer.parseInt(args[0]);
        directly(n);
        byReflection(n);
        byHandle(n);
        byCatchingHandle(n);
        byLambda(n);
        byConstructor(n);
        byThread(Integer.parseInt(args[1]));
        System.out.println("done");
    }
}
