import java.io.FileOutputStream;
import java.io.PrintStream;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.MessageDigest;
import java.security.ProtectionDomain;

/** An agent that writes a digest of what the VM takes for the bytes of a class to a file: {@code CLASS,FILE}. */
public class Retransformed {
    public static void agentmain(String argument, Instrumentation instrumentation) throws Exception {
        final String name = argument.split(",")[0];
        final byte[][] seen = new byte[1][];
        ClassFileTransformer looks = new ClassFileTransformer() {
            @Override
            public byte[] transform(ClassLoader loader, String found, Class<?> of, ProtectionDomain from, byte[] bytes) {
                if (name.equals(found)) {
                    seen[0] = bytes.clone();
                }
                return null;
            }
        };
        instrumentation.addTransformer(looks, true);
        instrumentation.retransformClasses(Class.forName(name));
        instrumentation.removeTransformer(looks);
        StringBuilder digest = new StringBuilder();
        for (byte one : MessageDigest.getInstance("SHA-256").digest(seen[0])) {
            digest.append(one).append(' ');
        }
        try (PrintStream out = new PrintStream(new FileOutputStream(argument.split(",")[1]))) {
            out.print(digest);
        }
    }
}
