package quipu.junit;

import java.lang.reflect.Method;
import java.util.HashSet;
import java.util.Set;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * Tells Quipu which methods are tests, whichever engine of the JUnit Platform runs them. What a test does is in the
 * profile below its method; what the engine, the constructor and {@code @BeforeEach} do is not below it, and so is
 * kept apart without further ado.
 *
 * <p>In a JVM that is not run by {@code quipu test} it does nothing.
 */
public final class TestListener implements TestExecutionListener {
    private final Set<String> noted = new HashSet<>();

    @Override
    public void testPlanExecutionStarted(TestPlan plan) {
        Agent.call(Agent.START);
    }

    @Override
    public void executionStarted(TestIdentifier identifier) {
        TestSource source = identifier.getSource().orElse(null);
        if (Agent.NOTE == null || !identifier.isTest() || !(source instanceof MethodSource)) {
            return;
        }
        Method test = ((MethodSource) source).getJavaMethod();
        // The code of a dynamic test is what its factory made, not the factory.
        String kind = identifier.getUniqueId().contains("/[dynamic-") ? "dynamic" : "method";
        note(String.join("\t", kind, test.getDeclaringClass().getName(), test.getName(), Work.descriptor(test)));
    }

    /** Tests of one class may run at the same time. */
    private synchronized void note(String test) {
        if (noted.add(test)) {
            Agent.call(Agent.NOTE, test);
        }
    }
}
