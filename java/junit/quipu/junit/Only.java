package quipu.junit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.HashSet;
import java.util.Set;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.PostDiscoveryFilter;

/**
 * Lets only those tests run that a file names, each as {@code class#method}: {@code quipu test} looks closer at some of them.
 * Otherwise all run.
 */
public final class Only implements PostDiscoveryFilter {
    private final Set<String> wanted = wanted();

    @Override
    public FilterResult apply(TestDescriptor test) {
        TestSource source = wanted == null ? null : test.getSource().orElse(null);
        if (!(source instanceof MethodSource)) {
            return FilterResult.includedIf(true);
        }
        MethodSource method = (MethodSource) source;
        return FilterResult.includedIf(wanted.contains(method.getClassName() + '#' + method.getMethodName()));
    }

    /** Null for all. */
    private static Set<String> wanted() {
        String file = Agent.START == null ? null : System.getProperty("quipu.only");
        try {
            return file == null ? null : new HashSet<>(Files.readAllLines(Paths.get(file)));
        } catch (IOException unreadable) {
            return null;
        }
    }
}
