package quipu.runtime;

import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Comparator;

/**
 * Methods and constructors in an order that is the same each time. The VM lists them by where their names lie in its memory,
 * which is another place in each run; whoever looks for one among them looks at more or fewer of them then.
 */
public final class Reflected implements Comparator<Executable> {
    private static final Reflected ORDER = new Reflected();

    private Reflected() {}

    /** Called by {@code Class} with what the VM gave it. */
    public static Method[] methods(Method[] methods) {
        if (methods != null) {
            Arrays.sort(methods, ORDER);
        }
        return methods;
    }

    /** As well. */
    public static Constructor<?>[] constructors(Constructor<?>[] constructors) {
        if (constructors != null) {
            Arrays.sort(constructors, ORDER);
        }
        return constructors;
    }

    @Override
    public int compare(Executable a, Executable b) {
        int order = a.getName().compareTo(b.getName());
        Class<?>[] left = a.getParameterTypes();
        Class<?>[] right = b.getParameterTypes();
        if (order == 0) {
            order = left.length - right.length;
        }
        for (int i = 0; order == 0 && i < left.length; i++) {
            order = left[i].getName().compareTo(right[i].getName());
        }
        // Methods that a compiler made differ in what they give back.
        if (order == 0 && a instanceof Method && b instanceof Method) {
            order = ((Method) a).getReturnType().getName().compareTo(((Method) b).getReturnType().getName());
        }
        return order;
    }
}
