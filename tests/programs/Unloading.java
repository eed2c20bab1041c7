import java.io.DataInputStream;
import java.io.InputStream;

/** Classes that are loaded, work for a moment, wait for a moment and are unloaded, thousands of times. */
public class Unloading {
    /** Loaded again and again, each time by another loader. */
    public static class Work implements Runnable {
        static long sink;

        @Override
        public void run() {
            Runnable inner = () -> spin(System.nanoTime() + 1_500_000);
            inner.run();
            pause();
        }

        static void spin(long until) {
            while (System.nanoTime() < until) {
                sink += until;
            }
        }

        static void pause() {
            try {
                Thread.sleep(2);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    static final class Loader extends ClassLoader {
        final byte[] bytes;

        Loader(byte[] bytes) {
            this.bytes = bytes;
        }

        Class<?> define() {
            return defineClass("Unloading$Work", bytes, 0, bytes.length);
        }
    }

    public static void main(String[] args) throws Exception {
        int classes = Integer.parseInt(args[0]);
        byte[] bytes;
        try (InputStream in = Unloading.class.getResourceAsStream("Unloading$Work.class")) {
            bytes = new byte[in.available()];
            new DataInputStream(in).readFully(bytes);
        }
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> load(classes / threads.length, bytes), "loading " + i);
            threads[i].start();
        }
        for (Thread thread : threads) {
            while (thread.isAlive()) {
                System.gc();
                thread.join(5);
            }
        }
        System.out.println(java.lang.management.ManagementFactory.getClassLoadingMXBean().getUnloadedClassCount());
    }

    static void load(int classes, byte[] bytes) {
        try {
            for (int i = 0; i < classes; i++) {
                ((Runnable) new Loader(bytes).define().getConstructor().newInstance()).run();
            }
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
