package org.junit.platform.engine.discovery;

/** To compile against only. */
public final class DiscoverySelectors {
    private DiscoverySelectors() {}

    public static native UniqueIdSelector selectUniqueId(String uniqueId);
}
