//: name = "ecj"
//: about = "the Eclipse compiler over the same generated source tree as javac, in memory"
//: maven = ["org.eclipse.jdt:ecj:3.33.0"]
//: package = "org.eclipse.jdt"
//: warmup = 14
//: steady = 6
//: quick = { warmup = 7, steady = 3 }
//: jvm = ["-Xms1g", "-Xmx1g"]
package bench;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.CRC32;
import org.eclipse.jdt.core.compiler.CategorizedProblem;
import org.eclipse.jdt.internal.compiler.ClassFile;
import org.eclipse.jdt.internal.compiler.Compiler;
import org.eclipse.jdt.internal.compiler.DefaultErrorHandlingPolicies;
import org.eclipse.jdt.internal.compiler.batch.CompilationUnit;
import org.eclipse.jdt.internal.compiler.batch.FileSystem;
import org.eclipse.jdt.internal.compiler.env.ICompilationUnit;
import org.eclipse.jdt.internal.compiler.impl.CompilerOptions;
import org.eclipse.jdt.internal.compiler.problem.DefaultProblemFactory;

public final class Ecj {
    public static void main(String[] args) throws Exception {
        // The JDK's own classes are read from its image, whose file system the compiler opens once.
        String[] classpath = {System.getProperty("java.home") + File.separator + "lib" + File.separator + "jrt-fs.jar"};
        Map<String, String> sources = SourceTree.java(20, 12);
        Bench.run(() -> compile(classpath, sources));
    }

    private static long compile(String[] classpath, Map<String, String> sources) {
        Map<String, byte[]> classes = new TreeMap<>();
        List<String> problems = new ArrayList<>();
        FileSystem names = new FileSystem(classpath, new String[0], "UTF-8");
        try {
            CompilerOptions options = new CompilerOptions(Map.of(
                    CompilerOptions.OPTION_Source, "17",
                    CompilerOptions.OPTION_Compliance, "17",
                    CompilerOptions.OPTION_TargetPlatform, "17"));
            Compiler compiler = new Compiler(names, DefaultErrorHandlingPolicies.proceedWithAllProblems(), options,
                    result -> {
                        if (result.hasErrors()) {
                            for (CategorizedProblem problem : result.getErrors()) {
                                problems.add(problem.toString());
                            }
                        }
                        for (ClassFile file : result.getClassFiles()) {
                            classes.put(new String(file.fileName()), file.getBytes());
                        }
                    },
                    new DefaultProblemFactory(), new PrintWriter(new OutputStreamWriter(new ByteArrayOutputStream())));
            compiler.useSingleThread = true;
            ICompilationUnit[] units = sources.entrySet().stream()
                    .map(file -> new CompilationUnit(file.getValue().toCharArray(), file.getKey(), "UTF-8"))
                    .toArray(ICompilationUnit[]::new);
            compiler.compile(units);
        } finally {
            names.cleanup();
        }
        if (!problems.isEmpty()) {
            throw new IllegalStateException("the generated sources do not compile: " + problems.get(0));
        }
        CRC32 crc = new CRC32();
        classes.values().forEach(crc::update);
        return Bench.mix(classes.size(), crc.getValue());
    }
}
