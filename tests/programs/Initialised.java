import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.CountDownLatch;

/**
 * A class that takes long to be made ready, because another one must be loaded to verify it and its loader takes its time; and a
 * second thread that wants it meanwhile. The VM has that thread wait for a monitor of its own.
 */
public class Initialised {
    static final CountDownLatch BEGUN = new CountDownLatch(1);

    static class Base { }

    static class Derived extends Base { }

    static class Wanted {
        /** To verify this, the VM must know what Derived is. */
        static Base upwards(Derived derived) {
            return derived;
        }
    }

    static final class Slowly extends ClassLoader {
        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("Initialised$") || name.endsWith("Slowly")) {
                return super.loadClass(name, resolve);
            }
            if (name.endsWith("Derived")) {
                BEGUN.countDown();
                pause();
            }
            Class<?> known = findLoadedClass(name);
            byte[] bytes = known == null ? bytes(name) : null;
            return known == null ? defineClass(name, bytes, 0, bytes.length) : known;
        }

        private static byte[] bytes(String name) throws ClassNotFoundException {
            try (InputStream in = Initialised.class.getResourceAsStream(name + ".class")) {
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                for (int b = in.read(); b >= 0; b = in.read()) {
                    out.write(b);
                }
                return out.toByteArray();
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    static void pause() {
        try {
            Thread.sleep(300);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] arguments) throws Exception {
        ClassLoader loader = new Slowly();
        Thread first = new Thread(() -> want(loader), "first");
        first.start();
        BEGUN.await();
        want(loader);
        first.join();
        lockAnArray();
    }

    /** The VM's monitor is that of an array of numbers: programs may lock such arrays, too. */
    static void lockAnArray() throws InterruptedException {
        int[] own = {1, 2, 3};
        Thread waiter = new Thread(() -> enter(own), "waiter");
        synchronized (own) {
            waiter.start();
            while (waiter.getState() != Thread.State.BLOCKED) {
                Thread.sleep(1);
            }
            Thread.sleep(20);
        }
        waiter.join();
    }

    static void enter(int[] own) {
        synchronized (own) {
            own[0]++;
        }
    }

    static void want(ClassLoader loader) {
        try {
            Class.forName("Initialised$Wanted", true, loader);
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
    }
}
