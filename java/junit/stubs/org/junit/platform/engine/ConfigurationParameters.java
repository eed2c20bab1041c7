package org.junit.platform.engine;

import java.util.Optional;
import java.util.Set;

/** To compile against only. */
public interface ConfigurationParameters {
    Optional<String> get(String key);

    Set<String> keySet();
}
