import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Paths;

/** Has the kernel work: reads zeros, a lot at a time, for so many milliseconds. */
public class Reading {
    public static void main(String[] arguments) throws Exception {
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000;
        ByteBuffer bytes = ByteBuffer.allocateDirect(1 << 20);
        try (FileChannel zeros = FileChannel.open(Paths.get("/dev/zero"))) {
            while (System.nanoTime() < end) {
                bytes.clear();
                zeros.read(bytes);
            }
        }
        System.out.println("read");
    }
}
