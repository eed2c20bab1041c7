import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Links every class named in a file (one binary name per line) and fails on the first kinds of error that a wrong
 * rewrite can cause. Asking for declared methods makes HotSpot link, and so verify, without initialising.
 */
public class LinkAll {
    public static void main(String[] args) throws Exception {
        int linked = 0, missing = 0, bad = 0;
        ClassLoader loader = ClassLoader.getSystemClassLoader();
        try (BufferedReader names = Files.newBufferedReader(Path.of(args[0]))) {
            for (String name; (name = names.readLine()) != null; ) {
                try {
                    Class.forName(name, false, loader).getDeclaredMethods();
                    linked++;
                } catch (VerifyError | ClassFormatError e) {
                    bad++;
                    System.out.println("BAD " + name + " " + e);
                } catch (Throwable e) {
                    missing++;
                    if (args.length > 1) System.out.println("missing " + name + " " + e);
                }
            }
        }
        System.out.println("linked " + linked + " missing " + missing + " bad " + bad);
        System.exit(bad == 0 ? 0 : 1);
    }
}
