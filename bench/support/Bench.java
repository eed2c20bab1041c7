package bench;

import java.io.IOException;

/**
 * What every program of the suite has in common: it does the same work again and again, each time it is told to, and
 * says how long it took and what came out.
 *
 * <p>The harness writes one byte per iteration to the standard input and reads one line from the standard output. In
 * between the program does nothing, so the harness can read the process's CPU clock and memory at exactly these points
 * without any code for it in the target. The end of the input ends the program.
 */
public final class Bench {
    /** One iteration; the result is a checksum of everything it computed, the same every time. */
    public interface Work {
        long run() throws Exception;
    }

    public static void run(Work work) throws Exception {
        say("begin " + ProcessHandle.current().pid());
        for (int i = 0; told(); i++) {
            long begun = System.nanoTime();
            long checksum = work.run();
            long nanos = System.nanoTime() - begun;
            say("iteration " + i + " " + nanos + " " + Long.toHexString(checksum));
        }
        say("end");
    }

    /** Mixes a value into a checksum. */
    public static long mix(long checksum, long value) {
        long z = (checksum ^ value) * 0x9E3779B97F4A7C15L;
        return z ^ (z >>> 29);
    }

    /** Mixes a text into a checksum. */
    public static long mix(long checksum, String text) {
        for (int i = 0; i < text.length(); i++) {
            checksum = checksum * 31 + text.charAt(i);
        }
        return mix(checksum, text.length());
    }

    private static boolean told() throws IOException {
        return System.in.read() >= 0;
    }

    private static void say(String what) {
        System.out.println("quipu-bench " + what);
        System.out.flush();
    }

    private Bench() {}
}
