import java.nio.ByteBuffer;

/**
 * Touches memory that nobody has touched, on threads of their own: "heap" that of arrays, "outside" that of direct buffers, "deep" that of
 * its stack. Argument: megabytes of the first two.
 */
public class Areas {
    private static final int MEGABYTE = 1 << 20;
    static volatile Object sink;
    static volatile int depth;

    static void fill(int megabytes) {
        byte[][] arrays = new byte[megabytes][];
        for (int i = 0; i < megabytes; i++) {
            arrays[i] = new byte[MEGABYTE];
        }
        sink = arrays;
    }

    static void buffer(int megabytes) {
        ByteBuffer[] buffers = new ByteBuffer[megabytes];
        for (int i = 0; i < megabytes; i++) {
            buffers[i] = ByteBuffer.allocateDirect(MEGABYTE);
        }
        sink = buffers;
    }

    /** With a frame that is large, since stacks of more frames are cut. */
    static long descend(int left, long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) {
        depth = left;
        if (left == 0) {
            return a + b + c + d + e + f + g + h + i + j;
        }
        long below = descend(left - 1, b, c, d, e, f, g, h, i, j, a);
        return below + a + b + c + d + e + f + g + h + i + j;
    }

    static void on(String name, Runnable work) throws InterruptedException {
        // 64 MB, so that there is enough of the stack.
        Thread thread = new Thread(null, work, name, 64L * MEGABYTE);
        thread.start();
        thread.join();
    }

    public static void main(String[] arguments) throws InterruptedException {
        int megabytes = Integer.parseInt(arguments[0]);
        on("heap", () -> fill(megabytes));
        on("outside", () -> buffer(megabytes));
        on("deep", () -> descend(3_000, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
        System.out.println("done");
    }
}
