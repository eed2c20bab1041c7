import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;

/** Classes loaded many times, by loaders that ask nobody else but for the JDK's, and unloaded if there is
 * a second argument. */
public class Loaders {
    /** What the loaders load. */
    public static class Plugin implements Runnable {
        static int runs;

        static int step(int n) {
            return n * 31 + 7;
        }

        @Override
        public void run() {
            for (int i = 0; i < 100; i++) {
                runs = step(runs);
            }
        }
    }

    static final class Isolated extends URLClassLoader {
        Isolated(URL... urls) {
            super(urls, null);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.startsWith("java.")) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                return loaded != null ? loaded : findClass(name);
            }
        }
    }

    static void once(URL classes) {
        try (Isolated loader = new Isolated(classes)) {
            Class<?> plugin = loader.loadClass("Loaders$Plugin");
            ((Runnable) plugin.getDeclaredConstructor().newInstance()).run();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) {
        int times = Integer.parseInt(args[0]);
        URL classes = Loaders.class.getProtectionDomain().getCodeSource().getLocation();
        for (int i = 0; i < times; i++) {
            once(classes);
            if (args.length > 1 && i % 10 == 0) {
                System.gc();
            }
        }
        new Plugin().run();
        System.out.println(Plugin.runs);
    }
}
