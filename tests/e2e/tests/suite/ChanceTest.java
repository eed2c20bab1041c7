package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.text.SimpleDateFormat;
import java.util.ArrayList;
import java.util.Calendar;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TimeZone;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.DoubleSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Work that depends on hash codes and random numbers, of which somebody else takes more or less each time. */
class ChanceTest {
    @BeforeAll
    static void disturb() {
        for (long times = System.nanoTime() % 1009; times > 0; times--) {
            new Object().hashCode();
            new Random();
        }
    }

    @Test
    void hashesObjects() {
        Set<Object> set = new HashSet<>();
        for (int i = 0; i < 1000; i++) {
            set.add(new Object());
        }
        assertEquals(1000, set.size());
    }

    @Test
    void shuffles() {
        List<Integer> list = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            list.add(i);
        }
        Collections.shuffle(list);
        sort(list.stream().mapToInt(i -> i).toArray());
    }

    @Test
    void drawsNumbers() {
        sorts(new Random()::nextDouble);
    }

    @Test
    void drawsFromMath() {
        sorts(Math::random);
    }

    @Test
    void drawsFromItsThread() {
        sorts(() -> ThreadLocalRandom.current().nextDouble());
    }

    @Test
    void drawsFromTheSystem() {
        SecureRandom random = new SecureRandom();
        sorts(random::nextDouble);
    }

    @Test
    void namesThings() {
        sorts(() -> Math.abs(UUID.randomUUID().getMostSignificantBits() / (double) Long.MIN_VALUE));
    }

    /** With a name that no earlier run has: they are not deleted. */
    @Test
    void writesTemporaryFiles() throws Exception {
        for (int i = 0; i < 5; i++) {
            Files.createTempFile(Path.of("."), "chance", ".txt");
            File.createTempFile("chance", ".txt", new File("."));
        }
    }

    @Test
    void splits() {
        sorts(new SplittableRandom()::nextDouble);
    }

    @Test
    void hashesTexts() {
        Set<String> set = new HashSet<>();
        for (Thread.State state : Thread.State.values()) {
            set.add(state.name());
        }
        assertEquals("a text that others hash, too".hashCode(), "a text that others hash, too".hashCode());
        assertEquals(Thread.State.NEW, Thread.State.valueOf("NEW"));
    }

    @Test
    void keepsWhatIsItsThreads() {
        ThreadLocal<Integer> local = ThreadLocal.withInitial(() -> 1);
        for (int i = 0; i < 10; i++) {
            assertEquals(1, local.get());
        }
        local.remove();
    }

    /** The VM has methods in the order of its addresses of their names, which is that of who was the first to use them. */
    @Test
    void listsMethods() {
        for (Class<?> listed : new Class<?>[] {Listed.class, String.class, StringBuilder.class}) {
            sort(Stream.of(listed.getDeclaredMethods()).mapToInt(method -> method.getName().hashCode()).toArray());
            sort(Stream.of(listed.getMethods()).mapToInt(method -> method.getName().hashCode()).toArray());
            sort(Stream.of(listed.getDeclaredConstructors()).mapToInt(constructor -> constructor.toString().hashCode()).toArray());
        }
    }

    private static final class Listed {
        void quilt() {}

        void quoin() {}

        void quorum() {}

        void quarry() {}

        void quaver() {}

        void quince() {}

        void quiver() {}

        void quartz() {}

        void quotient() {}

        void quagga() {}
    }

    /** Each has a calendar, and sets it to the current time: to another one if a millisecond has passed. */
    @Test
    void makesDateFormats() {
        for (int i = 0; i < 200; i++) {
            assertEquals("MMddyyyy", new SimpleDateFormat("MMddyyyy", Locale.ENGLISH).toPattern());
        }
    }

    /** A calendar has nothing to do if it has that time already. */
    @Test
    void setsCalendars() {
        Calendar calendar = Calendar.getInstance(TimeZone.getTimeZone("UTC"), Locale.ENGLISH);
        for (int i = 0; i < 20; i++) {
            calendar.setTimeInMillis(calendar.getTimeInMillis() + (System.nanoTime() >> 4 & 1));
        }
    }

    private static void sorts(DoubleSupplier numbers) {
        int[] drawn = new int[100];
        for (int i = 0; i < drawn.length; i++) {
            drawn[i] = (int) (1000 * numbers.getAsDouble());
        }
        sort(drawn);
    }

    /** The more of them are out of order, the more it does. */
    private static void sort(int[] numbers) {
        for (int i = 1; i < numbers.length; i++) {
            for (int j = i; j > 0 && numbers[j - 1] > numbers[j]; j--) {
                int number = numbers[j];
                numbers[j] = numbers[j - 1];
                numbers[j - 1] = number;
            }
        }
    }
}
