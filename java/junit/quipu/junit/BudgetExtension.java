package quipu.junit;

import java.lang.reflect.Method;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;

/** Looks at the counts of a test method before and after it. Found through {@link Budget}. */
public final class BudgetExtension implements InvocationInterceptor {
    @Override
    public void interceptTestMethod(
            Invocation<Void> invocation, ReflectiveInvocationContext<Method> method, ExtensionContext context)
            throws Throwable {
        run(invocation, method.getExecutable());
    }

    @Override
    public void interceptTestTemplateMethod(
            Invocation<Void> invocation, ReflectiveInvocationContext<Method> method, ExtensionContext context)
            throws Throwable {
        run(invocation, method.getExecutable());
    }

    private static void run(Invocation<Void> invocation, Method test) throws Throwable {
        Work before = Work.of(test);
        invocation.proceed();
        Work after = Work.of(test);
        if (before == null || after == null) {
            return;
        }
        Budget budget = test.getAnnotation(Budget.class);
        check(test, "bytecodes", after.bytecodes - before.bytecodes, budget.bytecodes(), after);
        check(test, "calls", after.calls - before.calls, budget.calls(), after);
        check(test, "allocations", after.allocations - before.allocations, budget.allocations(), after);
    }

    private static void check(Method test, String metric, long done, long budget, Work work) {
        if (done > budget) {
            throw new AssertionError(String.format(
                    "%s.%s did %,d %s; its budget is %,d%nMost bytecodes so far:%n%s",
                    test.getDeclaringClass().getName(), test.getName(), done, metric, budget, work.hot));
        }
    }
}
