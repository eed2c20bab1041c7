package quipu.junit;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * How much work a test method may do, next to its code. Under {@code quipu test} a test that does more fails, with the
 * methods that did most of it; otherwise nothing is counted and nothing fails. Each run of a parameterised test has
 * the whole budget.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(BudgetExtension.class)
public @interface Budget {
    /** Most bytecodes that the test may execute. */
    long bytecodes() default Long.MAX_VALUE;

    /** Most calls that it may make, its own included. */
    long calls() default Long.MAX_VALUE;

    /** Most instructions that it may execute which make objects or arrays. */
    long allocations() default Long.MAX_VALUE;
}
