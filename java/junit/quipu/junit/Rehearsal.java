package quipu.junit;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.platform.engine.ConfigurationParameters;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs the tests of a plan once before they are counted, so that what the program and the JDK keep from their first use
 * is there whichever test comes first. Nobody listens: what fails here is reported when it fails again.
 */
final class Rehearsal {
    private Rehearsal() {}

    static void of(TestPlan plan) {
        List<DiscoverySelector> tests = new ArrayList<>();
        for (TestIdentifier engine : plan.getRoots()) {
            for (TestIdentifier child : plan.getChildren(engine)) {
                tests.add(DiscoverySelectors.selectUniqueId(child.getUniqueId()));
            }
        }
        Map<String, String> settings = new HashMap<>();
        ConfigurationParameters given = plan.getConfigurationParameters();
        for (String key : given.keySet()) {
            Optional<String> value = given.get(key);
            value.ifPresent(text -> settings.put(key, text));
        }
        // Listeners that are found by themselves, as this one is, would take it for the real run.
        LauncherConfig quiet = LauncherConfig.builder()
                .enableTestExecutionListenerAutoRegistration(false)
                .enableLauncherSessionListenerAutoRegistration(false)
                .build();
        LauncherFactory.create(quiet)
                .execute(LauncherDiscoveryRequestBuilder.request()
                        .selectors(tests)
                        .configurationParameters(settings)
                        .build());
    }
}
