package org.junit.platform.launcher.core;

import java.util.List;
import java.util.Map;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.launcher.LauncherDiscoveryRequest;

/** To compile against only. */
public final class LauncherDiscoveryRequestBuilder {
    private LauncherDiscoveryRequestBuilder() {}

    public static native LauncherDiscoveryRequestBuilder request();

    public native LauncherDiscoveryRequestBuilder selectors(List<? extends DiscoverySelector> selectors);

    public native LauncherDiscoveryRequestBuilder configurationParameters(Map<String, String> parameters);

    public native LauncherDiscoveryRequest build();
}
