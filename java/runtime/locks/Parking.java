package quipu.runtime;

/**
 * Where threads that park are led through the agent. The VM warns, on the program's output, when a native method of the JDK's
 * is bound by code that is not the JDK's loader's: this is.
 */
final class Parking {
    /** Binds the method by which threads park: to the agent's function, or to the VM's again. */
    static void bind(boolean ours) {
        bind0(ours);
    }

    private static native void bind0(boolean ours);
}
