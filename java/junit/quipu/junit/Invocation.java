package quipu.junit;

import org.junit.platform.launcher.TestIdentifier;

/**
 * What tells one run of a test's method from the others: its number, and what JUnit shows of it. Both come from JUnit,
 * and are the same each time.
 */
final class Invocation {
    /** Longer texts are cut: they are for people. */
    private static final int LONGEST = 60;

    private Invocation() {}

    /** Number and text, with a tab between them; both empty for a test that is run once. */
    static String of(TestIdentifier identifier, String method) {
        String id = identifier.getUniqueId();
        String display = identifier.getDisplayName();
        if (id.contains("/[runner:")) {
            // JUnit 4 has it behind the method's name, in brackets.
            String rest = display.startsWith(method) ? display.substring(method.length()) : display;
            boolean bracketed = rest.startsWith("[") && rest.endsWith("]");
            return bracketed ? rest.substring(1, rest.length() - 1).replaceFirst(": ?|$", "\t") : "\t";
        }
        String number = number(id);
        return number.isEmpty() ? "\t" : number + '\t' + text(display, number);
    }

    /** The numbers in an id, outermost first: {@code [dynamic-container:#2]/[dynamic-test:#1]} is 2.1. */
    private static String number(String id) {
        StringBuilder number = new StringBuilder();
        for (int at = id.indexOf(":#"); at >= 0; at = id.indexOf(":#", at + 1)) {
            int end = id.indexOf(']', at);
            number.append(number.length() == 0 ? "" : ".").append(id, at + 2, end < 0 ? id.length() : end);
        }
        return number.toString();
    }

    /** What JUnit shows, on one line, without the number it begins with and without what differs from run to run. */
    private static String text(String display, String number) {
        String last = number.substring(number.lastIndexOf('.') + 1);
        String prefix = "[" + last + "]";
        String text = display.startsWith(prefix) ? display.substring(prefix.length()) : display;
        text = text.replaceAll("[\\p{Cntrl}\\s]+", " ").replaceAll("(?<=[\\w$;])@[0-9a-f]{1,16}(?![\\w.])", "@\u2026").trim();
        if (text.equals(display) && text.startsWith("repetition " + last + " of ")) {
            return "";
        }
        if (text.codePointCount(0, text.length()) <= LONGEST) {
            return text;
        }
        return text.substring(0, text.offsetByCodePoints(0, LONGEST - 1)) + "\u2026";
    }
}
