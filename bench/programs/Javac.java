//: name = "javac"
//: about = "the JDK's compiler over a generated source tree, in memory"
//: package = "com.sun.tools.javac"
//: warmup = 14
//: steady = 6
//: quick = { warmup = 7, steady = 3 }
//: jvm = ["-Xms1g", "-Xmx1g"]
package bench;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.CRC32;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

public final class Javac {
    public static void main(String[] args) throws Exception {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        List<Source> sources = new ArrayList<>();
        for (Map.Entry<String, String> file : SourceTree.java(20, 12).entrySet()) {
            sources.add(new Source(file.getKey(), file.getValue()));
        }
        Bench.run(() -> compile(compiler, sources));
    }

    private static long compile(JavaCompiler compiler, List<Source> sources) throws Exception {
        Map<String, ByteArrayOutputStream> classes = new TreeMap<>();
        try (JavaFileManager files = new InMemory(compiler.getStandardFileManager(null, null, null), classes)) {
            List<String> options = List.of("-proc:none", "-nowarn", "-XDuseUnsharedTable=true");
            if (!compiler.getTask(null, files, null, options, null, sources).call()) {
                throw new IllegalStateException("the generated sources do not compile");
            }
        }
        CRC32 crc = new CRC32();
        for (ByteArrayOutputStream bytes : classes.values()) {
            crc.update(bytes.toByteArray());
        }
        return Bench.mix(classes.size(), crc.getValue());
    }

    private static final class Source extends SimpleJavaFileObject {
        private final String text;

        Source(String name, String text) {
            super(URI.create("string:///" + name), Kind.SOURCE);
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }

    private static final class InMemory extends ForwardingJavaFileManager<JavaFileManager> {
        private final Map<String, ByteArrayOutputStream> classes;

        InMemory(JavaFileManager standard, Map<String, ByteArrayOutputStream> classes) {
            super(standard);
            this.classes = classes;
        }

        @Override
        public JavaFileObject getJavaFileForOutput(
                Location location, String name, JavaFileObject.Kind kind, FileObject sibling) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            classes.put(name, bytes);
            return new SimpleJavaFileObject(URI.create("mem:///" + name.replace('.', '/') + ".class"), kind) {
                @Override
                public OutputStream openOutputStream() {
                    return bytes;
                }
            };
        }
    }
}
