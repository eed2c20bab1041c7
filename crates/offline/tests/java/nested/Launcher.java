package boot;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.Map;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;

/** Starts a program from the classes and stored jars within its own jar, as fat jars do. */
public class Launcher extends ClassLoader {
    private final Map<String, byte[]> files = new HashMap<>();

    Launcher(String jar) throws IOException {
        super(Launcher.class.getClassLoader());
        try (JarFile file = new JarFile(jar)) {
            for (JarEntry entry : (Iterable<JarEntry>) file.stream()::iterator) {
                String name = entry.getName();
                if (name.startsWith("BOOT-INF/classes/")) {
                    files.put(name.substring(17), read(file.getInputStream(entry)));
                } else if (name.endsWith(".jar")) {
                    if (entry.getMethod() != ZipEntry.STORED) {
                        throw new IOException(name + " is packed");
                    }
                    unpack(new ZipInputStream(file.getInputStream(entry)));
                }
            }
        }
    }

    private void unpack(ZipInputStream in) throws IOException {
        for (ZipEntry entry; (entry = in.getNextEntry()) != null; ) {
            files.put(entry.getName(), read(in));
        }
    }

    private static byte[] read(InputStream in) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] buffer = new byte[4096];
        for (int n; (n = in.read(buffer)) > 0; ) {
            out.write(buffer, 0, n);
        }
        return out.toByteArray();
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        byte[] bytes = files.get(name.replace('.', '/') + ".class");
        if (bytes == null) {
            throw new ClassNotFoundException(name);
        }
        return defineClass(name, bytes, 0, bytes.length);
    }

    @Override
    public InputStream getResourceAsStream(String name) {
        byte[] bytes = files.get(name);
        return bytes != null ? new java.io.ByteArrayInputStream(bytes) : super.getResourceAsStream(name);
    }

    public static void main(String[] args) throws Exception {
        Launcher launcher = new Launcher(args[0]);
        launcher.loadClass("app.Main").getMethod("main", String[].class).invoke(null, (Object) args);
    }
}
