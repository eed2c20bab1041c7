package org.junit.platform.launcher.core;

/** To compile against only. */
public interface LauncherConfig {
    static Builder builder() {
        throw new UnsupportedOperationException();
    }

    /** To compile against only. */
    class Builder {
        private Builder() {}

        public native Builder enableTestExecutionListenerAutoRegistration(boolean enabled);

        public native Builder enableLauncherSessionListenerAutoRegistration(boolean enabled);

        public native LauncherConfig build();
    }
}
