import java.security.MessageDigest;

/**
 * Makes digests, as many as it is told, on one thread, when what the JDK does for the first one is done. What compilers put in
 * place of SHA-256's inner loop leaves out to make its work array, which is cleared afterwards where it is there.
 */
public final class Digests {
    static int sum;

    private static void make(int rounds) {
        byte[] data = new byte[100];
        for (int i = 0; i < rounds; i++) {
            MessageDigest digest = sha();
            data[i % data.length]++;
            sum += digest.digest(data)[0] + digest.digest(data)[1];
        }
    }

    private static MessageDigest sha() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        sha();
        Thread thread = new Thread(() -> make(rounds), "digests");
        thread.start();
        thread.join();
        System.out.println(sum);
    }
}
