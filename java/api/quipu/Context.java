package quipu;

import java.util.Set;

/**
 * A calling context: a method together with the calls that led to it. The contexts of a thread are a tree, its method
 * call tree.
 *
 * <p>A context is a view: it shows what has been counted so far, at each call anew. Two contexts are equal if they are
 * the same node of the same tree. The operations of Binder's <i>method invocation context</i> have these names here:
 *
 * <table>
 * <caption>Operations</caption>
 * <tr><td>{@code getCaller}, {@code getCalls}, {@code getCallees}, {@code getInstr}</td><td>the same</td></tr>
 * <tr><td>{@code getMID}</td><td>{@link #getMethodId}, also {@link #getMID}</td></tr>
 * <tr><td>{@code getOrCreateRoot}</td><td>the root is handed to {@link ExactProfiler#register}</td></tr>
 * <tr><td>{@code profileCall}, {@code profileInstr}</td><td>what the inserted code does; agents only read</td></tr>
 * </table>
 */
public interface Context {
    /** Whether this is the root of a tree, which stands for whatever started the thread and has only callees. */
    boolean isRoot();

    /**
     * The context this one was called from.
     *
     * @throws IllegalStateException at the root
     */
    Context getCaller();

    /**
     * How often the method was called in this context.
     *
     * @throws IllegalStateException at the root
     */
    long getCalls();

    /**
     * The method.
     *
     * @throws IllegalStateException at the root
     */
    MethodId getMethodId();

    /** The same as {@link #getMethodId}. */
    default MethodId getMID() {
        return getMethodId();
    }

    /**
     * The contexts called from this one so far, each called at least once, in the order of their first calls. The set
     * is the caller's own.
     */
    Set<Context> getCallees();

    /**
     * Bytecodes executed in this context, without those of its callees. A block of code is counted when it begins.
     *
     * @throws IllegalStateException at the root
     */
    long getInstr();
}
