import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;

/**
 * Does things that are counted by the machine, a known number of times, each on a thread of its own: the thread "toucher" writes to pages
 * that nobody has touched, three parts in one method and one part in another; "asker" calls a function of the JVM; "sleeper"
 * goes to sleep. Arguments: pages of one part, calls, sleeps, and how often all of it is done.
 */
public class Touches {
    private static final int PAGE = 4096;
    static volatile long sink;

    /** One fault for each page: each is the process's own from the first time on that it is written to. */
    static void write(MappedByteBuffer buffer, int from, int pages) {
        for (int page = from; page < from + pages; page++) {
            buffer.put(page * PAGE, (byte) 1);
        }
    }

    static void threeParts(MappedByteBuffer buffer, int part) {
        write(buffer, 0, 3 * part);
    }

    static void onePart(MappedByteBuffer buffer, int part) {
        write(buffer, 3 * part, part);
    }

    static void touch(MappedByteBuffer buffer, int part) {
        threeParts(buffer, part);
        onePart(buffer, part);
    }

    /** Pages of a file that has nothing in it. */
    static MappedByteBuffer map(int pages) throws IOException {
        File file = File.createTempFile("touches", null);
        try (RandomAccessFile open = new RandomAccessFile(file, "rw")) {
            open.setLength((long) pages * PAGE);
            return open.getChannel().map(FileChannel.MapMode.PRIVATE, 0, (long) pages * PAGE);
        } finally {
            file.delete();
        }
    }

    static void ask(int calls) {
        Runtime runtime = Runtime.getRuntime();
        for (int i = 0; i < calls; i++) {
            sink += runtime.totalMemory();
        }
    }

    static void sleep(int times) {
        try {
            for (int i = 0; i < times; i++) {
                Thread.sleep(1);
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] arguments) throws Exception {
        int part = Integer.parseInt(arguments[0]);
        int calls = Integer.parseInt(arguments[1]);
        int times = Integer.parseInt(arguments[2]);
        int rounds = Integer.parseInt(arguments[3]);
        for (int round = 0; round < rounds; round++) {
            MappedByteBuffer buffer = map(4 * part);
            Thread[] threads = {
                new Thread(() -> touch(buffer, part), "toucher"),
                new Thread(() -> ask(calls), "asker"),
                new Thread(() -> sleep(times), "sleeper"),
            };
            for (Thread thread : threads) {
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
        System.out.println("done");
    }
}
