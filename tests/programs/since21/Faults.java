import java.io.File;
import java.io.RandomAccessFile;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.util.ArrayList;
import java.util.List;

/** Virtual threads that write to pages which nobody has touched, a known number each. Arguments: threads, pages of each. */
public class Faults {
    static void write(MappedByteBuffer buffer, int from, int pages) {
        for (int page = from; page < from + pages; page++) {
            buffer.put(page * 4096, (byte) 1);
            if (page % 100 == 0) {
                Thread.yield();
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[0]), pages = Integer.parseInt(arguments[1]);
        File file = File.createTempFile("faults", null);
        try (RandomAccessFile open = new RandomAccessFile(file, "rw")) {
            long size = 4096L * count * pages;
            open.setLength(size);
            MappedByteBuffer buffer = open.getChannel().map(FileChannel.MapMode.PRIVATE, 0, size);
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                int from = i * pages;
                threads.add(Thread.ofVirtual().name("writer-" + i).start(() -> write(buffer, from, pages)));
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
