//: name = "scale"
//: about = "one kind of work in a size that is given: threads, virtual threads, depth, contexts, classes"
//: package = "bench"
//: warmup = 0
//: steady = 2
//: jvm = ["-Xms2g", "-Xmx6g", "-XX:-UseCodeCacheFlushing"]
package bench;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** {@code Scale AXIS SIZE}. The first iteration makes what there is, the others do the same work again. */
public final class Scale {
    public static void main(String[] args) throws Exception {
        int size = Integer.parseInt(args[1]);
        Bench.Work work = switch (args[0]) {
            case "threads" -> () -> threads(size);
            case "virtual" -> () -> virtual(size);
            case "depth" -> () -> depth(size);
            case "contexts" -> () -> left(size);
            case "classes" -> () -> classes(size);
            default -> throw new IllegalArgumentException(args[0]);
        };
        Bench.run(work);
    }

    /** So many threads that are all there at once, each with the same work. */
    private static long threads(int count) throws Exception {
        AtomicLong sum = new AtomicLong();
        CountDownLatch done = new CountDownLatch(count);
        CountDownLatch end = new CountDownLatch(1);
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            threads[i] = new Thread(null, () -> task(sum, done, end), "worker-" + i, 1 << 18);
            threads[i].start();
        }
        done.await();
        end.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        return sum.get();
    }

    /** The same with virtual threads, which this file's Java release does not know. */
    private static long virtual(int count) throws Exception {
        AtomicLong sum = new AtomicLong();
        CountDownLatch done = new CountDownLatch(count);
        CountDownLatch end = new CountDownLatch(1);
        ExecutorService threads =
                (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        for (int i = 0; i < count; i++) {
            threads.execute(() -> task(sum, done, end));
        }
        done.await();
        end.countDown();
        threads.shutdown();
        threads.awaitTermination(1, TimeUnit.HOURS);
        return sum.get();
    }

    private static void task(AtomicLong sum, CountDownLatch done, CountDownLatch end) {
        sum.addAndGet(work(200));
        done.countDown();
        try {
            end.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static long work(int calls) {
        long sum = 0;
        for (int i = 0; i < calls; i++) {
            sum += step(i) + step(sum);
        }
        return sum & 0xffff;
    }

    private static long step(long n) {
        return n * 31 ^ n >>> 7;
    }

    /** Recursions of this depth, as many as make two million calls. */
    private static long depth(int depth) throws Exception {
        long[] sum = {0};
        Thread thread = new Thread(null, () -> {
            for (int i = 0; i < 2_000_000 / depth; i++) {
                sum[0] += descend(depth);
            }
        }, "deep", 1L << 30);
        thread.start();
        thread.join();
        return sum[0];
    }

    private static long descend(int depth) {
        return depth == 0 ? 1 : descend(depth - 1) + 1;
    }

    /** A tree of so many contexts: two methods that call both of them. */
    private static long left(int contexts) {
        return contexts <= 1 ? 1 : 1 + left((contexts - 1) / 2) + right(contexts - 1 - (contexts - 1) / 2);
    }

    private static long right(int contexts) {
        return contexts <= 1 ? contexts : 1 + left((contexts - 1) / 2) + right(contexts - 1 - (contexts - 1) / 2);
    }

    /** So many classes, each loaded and called once; those of the first iteration are still there in the second. */
    private static long classes(int count) throws Exception {
        if (loaded == null) {
            Copies copies = new Copies();
            loaded = new java.util.function.IntUnaryOperator[count];
            for (int i = 0; i < count; i++) {
                loaded[i] = (java.util.function.IntUnaryOperator)
                        copies.copy(i).getDeclaredConstructor().newInstance();
            }
        }
        long sum = 0;
        for (java.util.function.IntUnaryOperator one : loaded) {
            sum += one.applyAsInt(1);
        }
        return sum;
    }

    private static java.util.function.IntUnaryOperator[] loaded;

    /** What is loaded again and again, under names of the same length. */
    public static final class Copy0000000 implements java.util.function.IntUnaryOperator {
        private int state = 3;

        @Override
        public int applyAsInt(int n) {
            return twice(n) + twice(state);
        }

        private int twice(int n) {
            return n < 100 ? n * 2 : n;
        }
    }

    private static final class Copies extends ClassLoader {
        private static final String NAME = "Copy0000000";
        private final byte[] original;

        Copies() throws IOException {
            super(Scale.class.getClassLoader());
            try (InputStream in = Scale.class.getResourceAsStream("Scale$" + NAME + ".class")) {
                original = in.readAllBytes();
            }
        }

        Class<?> copy(int number) {
            String name = String.format("Copy%07d", number + 1);
            // Latin-1 has a character for every byte.
            String text = new String(original, StandardCharsets.ISO_8859_1).replace(NAME, name);
            byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
            return defineClass("bench.Scale$" + name, bytes, 0, bytes.length);
        }
    }
}
