import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Paths;
import java.util.function.IntUnaryOperator;

/**
 * Native methods of classes that are loaded after those that call them.
 *
 * <p>Arguments: how often, the library with the native methods, and where the plugin is if it is not on the class path.
 */
public class LateNatives {
    static class Bound {
        static native int twice(int n);
    }

    static class Base {
        native int plus(int n);
    }

    /** Inherits the native method. */
    static class Heir extends Base {}

    /** Has something else in its place. */
    static class Rebel extends Base {
        @Override
        int plus(int n) {
            return n + 1;
        }
    }

    /** Calls methods of {@link Tool}, which its loader loads later. */
    public static class Plugin implements IntUnaryOperator {
        @Override
        public int applyAsInt(int n) {
            return Tool.twice(n) + Tool.once(n) + new Tool().plus(n);
        }
    }

    static class Tool {
        static native int twice(int n);

        static int once(int n) {
            return n;
        }

        native int plus(int n);
    }

    public static void main(String[] args) throws Exception {
        int times = Integer.parseInt(args[0]);
        System.load(args[1]);
        long sum = 0;
        for (int i = 0; i < times; i++) {
            sum += Bound.twice(i);
            sum += new Heir().plus(i);
            Base base = i % 4 == 0 ? new Rebel() : new Base();
            sum += base.plus(i);
        }
        URL[] places = args.length > 2 ? new URL[] {Paths.get(args[2]).toUri().toURL()} : new URL[0];
        try (URLClassLoader loader = new URLClassLoader(places)) {
            Class<?> plugin = loader.loadClass("LateNatives$Plugin");
            // Its native methods are bound by the loader of the class, which has to load the library itself.
            if (plugin.getClassLoader() == LateNatives.class.getClassLoader()) {
                sum += run((IntUnaryOperator) plugin.getConstructor().newInstance(), times);
            } else {
                loader.loadClass("LateNatives$Binding").getMethod("load", String.class).invoke(null, args[3]);
                sum += run((IntUnaryOperator) plugin.getConstructor().newInstance(), times);
            }
        }
        System.out.println(sum);
    }

    static int run(IntUnaryOperator plugin, int times) {
        int sum = 0;
        for (int i = 0; i < times; i++) {
            sum += plugin.applyAsInt(i);
        }
        return sum;
    }

    /** Loads a library for the loader of this class. */
    public static class Binding {
        public static void load(String library) {
            System.load(library);
        }
    }
}
