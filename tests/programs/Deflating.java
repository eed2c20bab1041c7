import java.util.Random;
import java.util.zip.Deflater;

/** Uses CPU time in a native method, which has the work done by a library. */
public class Deflating {
    public static void main(String[] arguments) {
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000;
        byte[] text = new byte[1 << 16];
        Random random = new Random(1);
        for (int i = 0; i < text.length; i++) {
            text[i] = (byte) ('a' + random.nextInt(4));
        }
        byte[] out = new byte[text.length];
        long sum = 0;
        while (System.nanoTime() < end) {
            sum += deflate(text, out);
        }
        System.out.println(sum > 0 ? "deflated" : "nothing");
    }

    private static int deflate(byte[] text, byte[] out) {
        Deflater deflater = new Deflater(9);
        deflater.setInput(text);
        deflater.finish();
        int length = deflater.deflate(out);
        deflater.end();
        return length;
    }
}
