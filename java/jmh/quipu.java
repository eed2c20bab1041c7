import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/**
 * The JMH profiler of {@code -prof quipu}: what one operation does, in bytecodes, calls and allocation instructions.
 * JMH takes a profiler's class for its name, hence this one.
 *
 * <p>Counted is what is below the benchmark's method, not JMH's loop around it, and without the initialisation of
 * classes; so the error is 0 where the benchmark always does the same.
 */
public class quipu implements InternalProfiler {
    private static final String[] METRICS = {"bytecodes", "calls", "allocations"};

    private final Method start = agent("start");
    private final Method work = agent("work", String.class, String.class, String.class);
    private long[] before;

    private static Method agent(String name, Class<?>... parameters) {
        try {
            return Class.forName("java.quipu.Tests").getMethod(name, parameters);
        } catch (ReflectiveOperationException withoutAgent) {
            throw new IllegalStateException("there is no agent: run JMH with `quipu test -- java -jar …`");
        }
    }

    @Override
    public String getDescription() {
        return "Bytecodes, calls and allocation instructions of each operation, exact";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        try {
            start.invoke(null);
        } catch (ReflectiveOperationException impossible) {
            throw new IllegalStateException(impossible);
        }
        before = done(benchmark);
    }

    @Override
    public Collection<? extends Result> afterIteration(
            BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
        long[] after = done(benchmark);
        List<Result> results = new ArrayList<>();
        double operations = (double) (after[0] - before[0]) * benchmark.getOpsPerInvocation();
        for (int i = 0; i < METRICS.length && operations > 0; i++) {
            double perOperation = (after[i + 1] - before[i + 1]) / operations;
            String metric = METRICS[i];
            results.add(new ScalarResult("quipu." + metric, perOperation, metric + "/op", AggregationPolicy.AVG));
        }
        return results;
    }

    /** Runs, bytecodes, calls and allocations of the benchmark's method so far. */
    private long[] done(BenchmarkParams benchmark) {
        String name = benchmark.getBenchmark();
        int dot = name.lastIndexOf('.');
        String told;
        try {
            told = (String) work.invoke(null, owner(name.substring(0, dot)), name.substring(dot + 1), null);
        } catch (ReflectiveOperationException impossible) {
            throw new IllegalStateException(impossible);
        }
        if (told == null) {
            throw new IllegalStateException("the profile is too large to be read while the benchmark runs");
        }
        String[] numbers = told.split("\n", 2)[0].split(" ");
        long[] done = new long[numbers.length];
        for (int i = 0; i < done.length; i++) {
            done[i] = Long.parseLong(numbers[i]);
        }
        return done;
    }

    /** JMH writes nested classes with a dot. */
    private static String owner(String name) {
        for (String known = name; ; ) {
            try {
                return Class.forName(known, false, Thread.currentThread().getContextClassLoader()).getName();
            } catch (ClassNotFoundException notThisOne) {
                int dot = known.lastIndexOf('.');
                if (dot < 0) {
                    return name;
                }
                known = known.substring(0, dot) + '$' + known.substring(dot + 1);
            }
        }
    }
}
