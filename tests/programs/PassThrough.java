import java.io.ByteArrayOutputStream;
import java.io.IOException;

/** Reads, writes and ends in the way its first argument says. */
public class PassThrough {
    public static void main(String[] args) throws IOException {
        ByteArrayOutputStream read = new ByteArrayOutputStream();
        for (int b; (b = System.in.read()) >= 0; ) {
            read.write(b);
        }
        byte[] input = read.toByteArray();
        System.out.write(input);
        System.out.println("out: " + String.join("|", args));
        System.err.println("err: " + input.length);
        switch (args[0]) {
            case "exit":
                System.exit(3);
                break;
            case "throw":
                throw new IllegalStateException("on purpose");
            case "halt":
                Runtime.getRuntime().halt(7);
                break;
            default:
        }
    }
}
