import java.io.File;
import java.io.FileInputStream;

/**
 * Hangs in a native method, opening a pipe that nobody writes to; or, with {@code safepoint}, in compiled code that the VM
 * cannot stop. Says when.
 */
public class Stuck {
    static volatile long sink;

    public static void main(String[] arguments) throws Exception {
        Thread stuck = new Thread(arguments[0].equals("safepoint") ? Stuck::compute : () -> open(arguments[1]), "stuck");
        stuck.setDaemon(true);
        stuck.start();
        // Long enough for the method to be compiled, and the thread to be in it.
        Thread.sleep(1000);
        System.out.println("waiting");
        while (System.in.read() >= 0) {
            continue;
        }
        Runtime.getRuntime().halt(0);
    }

    private static void open(String pipe) {
        try {
            new FileInputStream(new File(pipe)).close();
        } catch (java.io.IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void compute() {
        for (int i = 0; ; i++) {
            sink += chain(i < 20_000 ? 10 : Integer.MAX_VALUE);
        }
    }

    /** A counted loop: without safepoints in it, it runs to its end, for half a minute. */
    private static long chain(int steps) {
        long value = steps | 1;
        for (int i = 0; i < steps; i++) {
            value = value * 31 + Long.MAX_VALUE / (value | 1);
        }
        return value;
    }
}
