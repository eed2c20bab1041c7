package org.junit.jupiter.api.extension;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** To compile against only. */
@Retention(RetentionPolicy.RUNTIME)
public @interface ExtendWith {
    Class<? extends Extension>[] value();
}
