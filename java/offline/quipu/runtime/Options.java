package quipu.runtime;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;

/** What was asked for: system properties {@code quipu.*}, else what was written into the runtime's jar with it. */
final class Options {
    private static final Properties WRITTEN = written();

    private Options() {}

    private static Properties written() {
        Properties properties = new Properties();
        try (InputStream in = Options.class.getResourceAsStream("options.properties")) {
            if (in != null) {
                properties.load(in);
            }
        } catch (IOException unreadable) {
            complain("cannot read its options: " + unreadable.getMessage());
        }
        return properties;
    }

    static String get(String name, String otherwise) {
        String given = null;
        try {
            given = System.getProperty("quipu." + name);
        } catch (SecurityException denied) {
            // The application's rules; what is in the jar holds.
        }
        return given != null ? given : WRITTEN.getProperty(name, otherwise);
    }

    /** What is on each line of a value; nothing if there is none. */
    static String[] lines(String name) {
        String text = get(name, "");
        return text.isEmpty() ? new String[0] : text.split("\n");
    }

    static long number(String name, long otherwise) {
        String text = get(name, null);
        if (text == null) {
            return otherwise;
        }
        String digits = text.trim();
        int shift = digits.isEmpty() ? 0 : 10 * (1 + "kmg".indexOf(Character.toLowerCase(digits.charAt(digits.length() - 1))));
        try {
            return Long.parseLong(shift == 0 ? digits : digits.substring(0, digits.length() - 1)) << shift;
        } catch (NumberFormatException wrong) {
            complain("quipu." + name + "=" + text + ": must be a number");
            return otherwise;
        }
    }

    /** 8, 17, 25. */
    static int feature() {
        String version = System.getProperty("java.specification.version", "8");
        return Integer.parseInt(version.startsWith("1.") ? version.substring(2) : version);
    }

    /** Only trouble is told: the program's output is its own. */
    static void complain(String why) {
        System.err.println("quipu: " + why);
    }
}
