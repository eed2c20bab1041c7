package quipu.junit;

import java.lang.reflect.Method;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * Tells Quipu when a test begins and ends, and which method it is, whichever engine of the JUnit Platform runs it.
 * What a test does is in the profile below its method; what the engine, the constructor and {@code @BeforeEach} do is
 * not below it, and so is kept apart without further ado.
 *
 * <p>In a JVM that is not run by {@code quipu test} it does nothing.
 */
public final class TestListener implements TestExecutionListener {
    @Override
    public void testPlanExecutionStarted(TestPlan plan) {
        if (Agent.START != null && Boolean.getBoolean("quipu.warm")) {
            Rehearsal.of(plan);
        }
        Agent.call(Agent.START);
    }

    @Override
    public void executionStarted(TestIdentifier identifier) {
        MethodSource source = source(identifier);
        if (source != null) {
            Agent.call(Agent.BEGIN, method(identifier, source), test(identifier, source));
        }
    }

    @Override
    public void executionFinished(TestIdentifier identifier, TestExecutionResult result) {
        MethodSource source = source(identifier);
        if (source != null) {
            Agent.call(Agent.END, method(identifier, source), test(identifier, source));
            tellBudget(identifier, source);
        }
    }

    /** Where a test is; null if that is not known, or nothing is counted. */
    private static MethodSource source(TestIdentifier identifier) {
        if (Agent.BEGIN == null || !identifier.isTest()) {
            return null;
        }
        TestSource source = identifier.getSource().orElse(null);
        return source instanceof MethodSource ? (MethodSource) source : null;
    }

    /** JUnit 4 knows nothing of {@link BudgetExtension}: whoever reads the profile compares. */
    private static void tellBudget(TestIdentifier identifier, MethodSource source) {
        Budget budget = identifier.getUniqueId().contains("/[runner:") ? source.getJavaMethod().getAnnotation(Budget.class) : null;
        if (budget != null) {
            String limits = budget.bytecodes() + "\t" + budget.calls() + "\t" + budget.allocations();
            Agent.call(Agent.TELL, "budget", String.join("\t", method(identifier, source), test(identifier, source), limits));
        }
    }

    private static String test(TestIdentifier identifier, MethodSource source) {
        return source.getClassName() + '\t' + Invocation.of(identifier, source.getMethodName());
    }

    private static String method(TestIdentifier identifier, MethodSource source) {
        Method test = source.getJavaMethod();
        // The code of a dynamic test is what its factory made, not the factory.
        String kind = identifier.getUniqueId().contains("/[dynamic-") ? "dynamic" : "method";
        return String.join("\t", kind, test.getDeclaringClass().getName(), test.getName(), Work.descriptor(test));
    }
}
