import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/** Regular expressions of several kinds over made-up log lines. */
public class Regex {
    private static final Pattern LINE =
            Pattern.compile("(?<level>INFO|WARN|ERROR)\\s+\\[(\\w+(?:-\\d+)?)\\]\\s+(.*?)(?:\\s+took\\s+(\\d+)ms)?$");

    private static String repeat(String text, int times) {
        StringBuilder repeated = new StringBuilder();
        for (int i = 0; i < times; i++) {
            repeated.append(text);
        }
        return repeated.toString();
    }

    public static void main(String[] args) {
        int lines = args.length > 0 ? Integer.parseInt(args[0]) : 150;
        Map<String, Integer> levels = new TreeMap<>();
        long millis = 0;
        for (int i = 0; i < lines; i++) {
            String line = (i % 5 == 0 ? "ERROR" : i % 3 == 0 ? "WARN" : "INFO") + "  [worker-" + i % 7 + "] did thing "
                    + Integer.toString(i * 7919, 36) + (i % 2 == 0 ? " took " + i + "ms" : "");
            Matcher m = LINE.matcher(line);
            if (m.find()) {
                levels.merge(m.group("level"), 1, Integer::sum);
                if (m.group(4) != null) {
                    millis += Long.parseLong(m.group(4));
                }
            }
        }
        String words = repeat("the quick brown fox jumps over the lazy dog ", 5);
        String swapped = words.replaceAll("(\\w+) (\\w+)", "$2 $1");
        int backtracking = Pattern.compile("(x+x+)+y").matcher(repeat("x", 12)).find() ? 1 : 0;
        String unicode = Pattern.compile("\\p{Lu}", Pattern.UNICODE_CHARACTER_CLASS).matcher("ÄbÖd").replaceAll("_");
        try {
            Pattern.compile("(unclosed");
        } catch (PatternSyntaxException expected) {
            backtracking += 2;
        }
        System.out.println(levels + " " + millis + " " + swapped.hashCode() + " " + backtracking + " " + unicode);
    }
}
