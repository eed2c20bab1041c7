package ids;

import java.net.URL;
import java.net.URLClassLoader;

/** Runs the same class in two loaders of its own jar, and in the loader of the program. */
public class Ids {
    public static class Worker implements Runnable {
        @Override
        public void run() {
            for (int i = 0; i < 10; i++) {
                step();
            }
        }

        private void step() {}
    }

    public static void main(String[] args) throws Exception {
        new Worker().run();
        URL here = Ids.class.getProtectionDomain().getCodeSource().getLocation();
        for (int i = 0; i < 2; i++) {
            try (URLClassLoader loader = new URLClassLoader(new URL[] {here}, Runtime.class.getClassLoader()) {
                @Override
                protected Class<?> findClass(String name) throws ClassNotFoundException {
                    // The runtime is the program's; everything else is loaded anew.
                    return name.startsWith("quipu.runtime.")
                            ? Ids.class.getClassLoader().loadClass(name)
                            : super.findClass(name);
                }
            }) {
                ((Runnable) loader.loadClass("ids.Ids$Worker").getDeclaredConstructor().newInstance()).run();
            }
        }
        System.out.println("done");
    }
}
