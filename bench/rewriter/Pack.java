import java.io.*;
import java.nio.file.*;
import java.util.*;
import java.util.stream.*;

/** Packs all class files below a directory into one file: length, bytes, length, bytes. */
public class Pack {
    public static void main(String[] args) throws IOException {
        try (Stream<Path> files = Files.walk(Path.of(args[0]));
                DataOutputStream out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(Path.of(args[1]))))) {
            for (Path p : files.filter(f -> f.toString().endsWith(".class")).sorted().collect(Collectors.toList())) {
                byte[] bytes = Files.readAllBytes(p);
                out.writeInt(bytes.length);
                out.write(bytes);
            }
        }
    }
}
