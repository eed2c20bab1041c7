import java.io.File;
import java.io.RandomAccessFile;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.util.concurrent.CountDownLatch;

/** Threads that are all there at once, each of which writes to pages that nobody has touched. Arguments: threads, pages of each. */
public class ManyFaults {
    static void write(MappedByteBuffer buffer, int from, int pages) {
        for (int page = from; page < from + pages; page++) {
            buffer.put(page * 4096, (byte) 1);
        }
    }

    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[0]), pages = Integer.parseInt(arguments[1]);
        File file = File.createTempFile("faults", null);
        try (RandomAccessFile open = new RandomAccessFile(file, "rw")) {
            long size = 4096L * count * pages;
            open.setLength(size);
            MappedByteBuffer buffer = open.getChannel().map(FileChannel.MapMode.PRIVATE, 0, size);
            CountDownLatch all = new CountDownLatch(count);
            Thread[] threads = new Thread[count];
            for (int i = 0; i < count; i++) {
                int from = i * pages;
                threads[i] = new Thread(() -> {
                    all.countDown();
                    try {
                        all.await();
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                    write(buffer, from, pages);
                }, "writer-" + i);
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
        } finally {
            file.delete();
        }
        System.out.println("done");
    }
}
