package com.acme;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Test;

/** Draws random numbers and fills caches before other tests do. */
class EarlierTest {
    @Test
    void usesWhatOthersUse() {
        double drawn = ThreadLocalRandom.current().nextDouble() + Math.random() + new Random().nextDouble();
        drawn += new SecureRandom().nextDouble() + new SplittableRandom().nextDouble();
        List<String> list = new ArrayList<>(Arrays.asList("a text that others hash, too", UUID.randomUUID().toString()));
        Collections.shuffle(list);
        assertTrue(drawn + list.hashCode() != 0.5);
        for (int i = 0; i < 7; i++) {
            ThreadLocal<Integer> local = ThreadLocal.withInitial(() -> 1);
            assertTrue(local.get() == 1);
        }
        assertTrue(Thread.State.valueOf("NEW").name().hashCode() != 0);
    }

    /** Names that methods of another class have, too: they are in the VM from now on, in this order. */
    private static final class Named {
        void quaver() {}

        void quagga() {}

        void quotient() {}

        void quartz() {}

        void quiver() {}

        void quince() {}

        void quarry() {}

        void quorum() {}

        void quoin() {}

        void quilt() {}
    }

    @Test
    void namesMethods() {
        new Named().quaver();
    }
}
