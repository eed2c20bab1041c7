package quipu.runtime;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.PosixFilePermissions;

/**
 * The file the profile is kept in, mapped while the program runs: a program that is killed, or halts, leaves its
 * profile behind too. The whole limit is mapped, over a hole; pages are given to the file before they are touched, so
 * that a full disk only stops the tree from growing.
 */
final class ArenaFile {
    /** What is there without a file: the header, and the node that takes what cannot be kept. */
    private static final long WITHOUT_FILE = 1 << 20;
    private static final long STEP = 1 << 20;
    /** What threads may still use after the end: other shutdown hooks run at the same time. */
    private static final long AFTER_END = 1 << 20;
    private static final long SMALLEST = 4 << 20;

    private static RandomAccessFile file;
    private static long limit = WITHOUT_FILE;
    private static long committed;
    private static boolean ended;

    private ArenaFile() {}

    /** The arena as a buffer. */
    static ByteBuffer mapBuffer() {
        FileChannel channel = open(Integer.MAX_VALUE & -4096L);
        boolean interrupted = Thread.interrupted();
        try {
            if (channel != null) {
                return channel.map(FileChannel.MapMode.READ_WRITE, 0, limit);
            }
        } catch (IOException e) {
            refuse(e.getMessage());
        } finally {
            restore(interrupted);
        }
        return ByteBuffer.allocateDirect((int) limit);
    }

    /** The arena as a {@code MemorySegment}. */
    static Object mapSegment() throws ReflectiveOperationException {
        Class<?> arenas = Class.forName("java.lang.foreign.Arena");
        Object forever = arenas.getMethod("global").invoke(null);
        FileChannel channel = open((1L << 32 << Layout.ID_SHIFT) - 4096);
        boolean interrupted = Thread.interrupted();
        try {
            if (channel != null) {
                return FileChannel.class
                        .getMethod("map", FileChannel.MapMode.class, long.class, long.class, arenas)
                        .invoke(channel, FileChannel.MapMode.READ_WRITE, 0L, limit, forever);
            }
        } catch (InvocationTargetException e) {
            refuse(e.getCause().getMessage());
        } finally {
            restore(interrupted);
        }
        return arenas.getMethod("allocate", long.class, long.class).invoke(forever, limit, 8L);
    }

    private static void restore(boolean interrupted) {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static FileChannel open(long largest) {
        long wanted = Options.number("limit", 1L << 30);
        String output = Options.get("output", null);
        Path path = null;
        try {
            path = Paths.get(output != null ? output.replace("%p", pid()) : "quipu-" + pid() + ".arena");
            if (output != null) {
                Files.deleteIfExists(path);
            }
            path = create(path);
            file = new RandomAccessFile(path.toFile(), "rw");
            limit = Math.max(SMALLEST, Math.min(wanted, largest)) & -4096L;
            return file.getChannel();
        } catch (IOException | RuntimeException e) {
            refuse("cannot make " + (path == null ? output : path.toAbsolutePath()) + " (" + e
                    + "); name another file with -Dquipu.output=FILE");
            return null;
        }
    }

    /** A new file that only its owner can read. What earlier programs left is not overwritten. */
    private static Path create(Path path) throws IOException {
        String name = path.toString();
        String stem = name.endsWith(".arena") ? name.substring(0, name.length() - 6) : name;
        for (int n = 2;; n++) {
            try {
                if (File.separatorChar == '/') {
                    return Files.createFile(path,
                            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
                }
                return Files.createFile(path);
            } catch (FileAlreadyExistsException exists) {
                path = Paths.get(stem + "-" + n + ".arena");
            }
        }
    }

    private static void refuse(String why) {
        Options.complain("not profiling: " + why);
        file = null;
        limit = WITHOUT_FILE;
    }

    static long limit() {
        return limit;
    }

    static String pid() {
        try {
            Class<?> handles = Class.forName("java.lang.ProcessHandle");
            return handles.getMethod("pid").invoke(handles.getMethod("current").invoke(null)).toString();
        } catch (ReflectiveOperationException older) {
            try {
                return Files.readSymbolicLink(Paths.get("/proc/self")).toString();
            } catch (IOException | RuntimeException elsewhere) {
                return java.lang.management.ManagementFactory.getRuntimeMXBean().getName().split("@")[0];
            }
        }
    }

    /** Gives the file pages up to here; returns how far it has some. */
    static synchronized long commit(long end) {
        if (end <= committed || end > limit || ended) {
            return committed;
        }
        long target = Math.min(limit, Math.max(end, committed + Math.max(STEP, committed / 8)));
        if (file == null || write(target) || write(end)) {
            committed = file == null ? limit : committed;
        }
        return committed;
    }

    /** Zeros, because Java has no other way to ask for blocks. Not through the channel, which an interrupt closes. */
    private static boolean write(long end) {
        byte[] zeros = new byte[1 << 16];
        try {
            for (long at = committed; at < end; at += zeros.length) {
                file.seek(at);
                file.write(zeros, 0, (int) Math.min(zeros.length, end - at));
            }
        } catch (IOException full) {
            return false;
        }
        committed = end;
        return true;
    }

    /** Cuts off what was never used. Later calls still count; only the tree cannot grow much any more. */
    static synchronized void end(long used) {
        commit(Math.min(limit, used + AFTER_END));
        ended = true;
        if (file != null) {
            try {
                file.setLength(committed);
            } catch (IOException keepsItsHole) {
                // The reader takes what is in use.
            }
        }
    }
}
