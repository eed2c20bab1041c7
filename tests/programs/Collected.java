import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.ResourceBundle;
import java.util.WeakHashMap;
import java.util.zip.Deflater;

/**
 * Uses what the collector changes behind a program's back: tables with weak keys, lists of what is to be cleaned, queues.
 * With an argument, garbage is collected all the time.
 */
public final class Collected {
    static long sink;

    /** Registered by the VM, and taken off its list when it was collected. */
    static final class Finalised {
        @Override
        @SuppressWarnings({"deprecation", "removal"})
        protected void finalize() {
            sink++;
        }
    }

    private static void work(int rounds) {
        Map<Object, Integer> weak = new WeakHashMap<>();
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        List<Object> kept = new ArrayList<>();
        for (int i = 0; i < rounds; i++) {
            // Keys with the same codes each time, and no two the same.
            Integer key = 1000 + i;
            weak.put(key, i);
            kept.add(new WeakReference<>(new Object(), queue));
            SoftReference<String> soft = new SoftReference<>("soft" + i);
            sink += soft.get().length();
            ThreadLocal<Integer> local = ThreadLocal.withInitial(() -> 1);
            sink += local.get();
            // More than there are in one of the lists of 4096 that newer JDKs have of them.
            for (int j = 0; j < 4; j++) {
                ByteBuffer direct = ByteBuffer.allocateDirect(64);
                sink += direct.capacity();
            }
            sink += new Finalised().hashCode() & 1;
            queue.poll();
            Deflater deflater = new Deflater();
            deflater.end();
            sink += ResourceBundle.Control.getControl(ResourceBundle.Control.FORMAT_DEFAULT).getCandidateLocales("x", Locale.US).size();
        }
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0) {
            Thread collector = new Thread(() -> {
                while (true) {
                    System.gc();
                }
            }, "collects");
            collector.setDaemon(true);
            collector.start();
        }
        work(1500);
    }
}
