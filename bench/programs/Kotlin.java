//: name = "kotlin"
//: about = "the Kotlin compiler over generated sources"
//: maven = ["org.jetbrains.kotlin:kotlin-compiler-embeddable:2.1.0"]
//: package = "org.jetbrains.kotlin"
//: warmup = 12
//: steady = 5
//: quick = { warmup = 8, steady = 3 }
//: jvm = ["-Xms1536m", "-Xmx1536m", "-Xss4m"]
package bench;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import org.jetbrains.kotlin.cli.common.ExitCode;
import org.jetbrains.kotlin.cli.jvm.K2JVMCompiler;

public final class Kotlin {
    public static void main(String[] args) throws Exception {
        // As a build daemon has it: the compiler's environment stays.
        System.setProperty("kotlin.environment.keepalive", "true");
        Path work = Files.createTempDirectory("bench-kotlin");
        Runtime.getRuntime().addShutdownHook(new Thread(() -> remove(work)));
        for (int f = 0; f < 2; f++) {
            Files.writeString(work.resolve("Part" + f + ".kt"), source(f, new Dice(f)));
        }
        String library = Stream.of(System.getProperty("java.class.path").split(":"))
                .filter(jar -> jar.contains("kotlin-stdlib")).findFirst().orElseThrow();
        Bench.run(() -> compile(work, library));
    }

    private static long compile(Path work, String library) throws Exception {
        Path out = work.resolve("out");
        remove(out);
        ByteArrayOutputStream messages = new ByteArrayOutputStream();
        ExitCode code = new K2JVMCompiler().exec(new PrintStream(messages), work.toString(), "-d", out.toString(),
                "-cp", library, "-no-stdlib", "-no-reflect", "-nowarn", "-jvm-target", "17");
        if (code != ExitCode.OK) {
            throw new IllegalStateException("the generated sources do not compile: " + messages);
        }
        CRC32 crc = new CRC32();
        try (Stream<Path> files = Files.walk(out)) {
            List<Path> classes = files.filter(file -> file.toString().endsWith(".class")).sorted().toList();
            for (Path file : classes) {
                crc.update(Files.readAllBytes(file));
            }
            return Bench.mix(classes.size(), crc.getValue());
        }
    }

    private static String source(int f, Dice dice) {
        StringBuilder text = new StringBuilder("package generated\n\n");
        text.append("sealed interface Shape" + f + "\n"
                + "data class Circle" + f + "(val r: Double, val tags: List<String> = emptyList()) : Shape" + f + "\n"
                + "data class Box" + f + "(val w: Int, val h: Int) : Shape" + f + "\n"
                + "object Nothing" + f + " : Shape" + f + "\n\n");
        for (int m = 0; m < 3; m++) {
            text.append("fun area" + f + "_" + m + "(s: Shape" + f + "): Double = when (s) {\n"
                    + "    is Circle" + f + " -> s.r * s.r * " + dice.below(9) + ".5\n"
                    + "    is Box" + f + " -> (s.w * s.h).toDouble()\n    Nothing" + f + " -> 0.0\n}\n"
                    + "fun <T : Comparable<T>> best" + f + "_" + m + "(all: Map<String, List<T>>): Pair<String, T>? =\n"
                    + "    all.filterValues { it.isNotEmpty() }.map { (k, v) -> k to v.maxOf { it } }\n"
                    + "        .sortedByDescending { it.second }.firstOrNull { it.first.length > " + dice.below(5) + " }\n"
                    + "class Store" + f + "_" + m + "(private val base: Int) {\n"
                    + "    val cache by lazy { mutableMapOf<Int, String>() }\n"
                    + "    fun get(i: Int?): String = i?.let { cache.getOrPut(it) { \"v${it + base}\" } } ?: \"none\"\n"
                    + "    inline fun each(f: (Int, String) -> Unit) { for (n in 0 until 10 step 2) f(n, get(n)) }\n"
                    + "    fun use(): Int { var t = 0; each { n, s -> t += n * s.length }; return try { t / base } catch (e: ArithmeticException) { -1 } }\n}\n\n");
        }
        return text.toString();
    }

    private static void remove(Path directory) {
        if (!Files.exists(directory)) {
            return;
        }
        try (Stream<Path> files = Files.walk(directory)) {
            files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
