/** Has native code make objects, so many times: the names of files, and what stack traces are made of. */
public class ByNatives {
    private static volatile Object last;

    public static void main(String[] arguments) {
        int rounds = Integer.parseInt(arguments[0]);
        for (int i = 0; i < rounds; i++) {
            last = Thread.currentThread().getStackTrace();
            last = new java.io.File("/proc/self/fd").list();
        }
        System.out.println("made");
    }
}
