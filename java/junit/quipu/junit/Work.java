package quipu.junit;

import java.lang.invoke.MethodType;
import java.lang.reflect.Method;

/** What a test method has done so far. */
final class Work {
    final long bytecodes;
    final long calls;
    final long allocations;
    /** The methods that executed most, one on each line. */
    final String hot;

    private Work(String told) {
        int end = told.indexOf('\n');
        String[] numbers = (end < 0 ? told : told.substring(0, end)).split(" ");
        bytecodes = Long.parseLong(numbers[1]);
        calls = Long.parseLong(numbers[2]);
        allocations = Long.parseLong(numbers[3]);
        hot = end < 0 ? "" : told.substring(end + 1);
    }

    /** Null where nothing is counted. */
    static Work of(Method test) {
        String told = (String) Agent.call(
                Agent.WORK, test.getDeclaringClass().getName(), test.getName(), descriptor(test));
        return told == null ? null : new Work(told);
    }

    static String descriptor(Method method) {
        return MethodType.methodType(method.getReturnType(), method.getParameterTypes()).toMethodDescriptorString();
    }
}
