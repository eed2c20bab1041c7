package org.openjdk.jmh.infra;

/** To compile against only. */
public class BenchmarkParams {
    public native String getBenchmark();

    public native int getOpsPerInvocation();
}
