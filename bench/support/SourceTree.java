package bench;

import java.util.LinkedHashMap;
import java.util.Map;

/** Generated sources for the compilers of the suite: ordinary classes that use each other, the same text every time. */
public final class SourceTree {
    private SourceTree() {}

    /** Path to text of {@code classes} Java classes with {@code methods} methods each. */
    public static Map<String, String> java(int classes, int methods) {
        Map<String, String> files = new LinkedHashMap<>();
        Dice dice = new Dice(42);
        for (int c = 0; c < classes; c++) {
            files.put("generated/Part" + c + ".java", javaClass(c, classes, methods, dice));
        }
        return files;
    }

    private static String javaClass(int c, int classes, int methods, Dice dice) {
        StringBuilder text = new StringBuilder();
        text.append("package generated;\n\nimport java.util.*;\nimport java.util.function.*;\n")
                .append("import java.util.stream.*;\n\n");
        String parent = c > 3 && c % 3 == 0 ? " extends Part" + (c - 3) : "";
        text.append("public class Part" + c + parent + " implements Comparable<Part" + c % 3 + "> {\n");
        text.append("    enum Colour" + c + " { RED, GREEN, BLUE }\n");
        text.append("    interface Visitor" + c + "<R> { R visit(Map<String, ? extends List<R>> where); }\n");
        text.append("    record Item" + c + "(int count, String name, List<? super Integer> rest) {}\n");
        text.append("    private final Map<String, List<Integer>> table = new HashMap<>();\n");
        text.append("    protected int state = " + dice.below(1000) + ";\n");
        text.append("    public int compareTo(Part" + c % 3 + " other) { return Integer.compare(state, 1); }\n");
        for (int m = 0; m < methods; m++) {
            method(text, c, m, classes, dice);
        }
        return text.append("}\n").toString();
    }

    private static void method(StringBuilder text, int c, int m, int classes, Dice dice) {
        int other = dice.below(classes);
        String name = "work" + c + "_" + m;
        switch (m % 6) {
            case 0 -> text.append("    public <T extends Comparable<? super T>> T " + name + "(Collection<T> all, T first) {\n"
                    + "        T best = first;\n"
                    + "        for (T one : all) { if (one.compareTo(best) > 0) { best = one; } }\n"
                    + "        return best;\n    }\n");
            case 1 -> text.append("    public int " + name + "(int n, long k, double d) {\n"
                    + "        int total = state;\n"
                    + "        for (int i = 0; i < n; i++) {\n"
                    + "            if (i % " + (2 + dice.below(9)) + " == 0 && k > i || d < total) { total += i * (int) k; continue; }\n"
                    + "            while (total > 100) { total >>= 1; k ^= total; }\n"
                    + "            total += new Part" + other + "().state;\n"
                    + "        }\n        return total + (int) d;\n    }\n");
            case 2 -> text.append("    public List<String> " + name + "(List<String> words) {\n"
                    + "        Function<String, Integer> length = w -> w.length() + state;\n"
                    + "        return words.stream().filter(w -> w != null && w.length() > " + dice.below(5) + ")\n"
                    + "            .sorted(Comparator.comparing(length).thenComparing(Comparator.naturalOrder()))\n"
                    + "            .map(w -> w + \":\" + length.apply(w)).collect(Collectors.toList());\n    }\n");
            case 3 -> text.append("    public String " + name + "(Object what, String key) {\n"
                    + "        switch (key) {\n"
                    + "            case \"alpha\": return \"a\" + what;\n            case \"beta\": state++;\n"
                    + "            case \"gamma" + m + "\": return key + state;\n            default: break;\n        }\n"
                    + "        if (what instanceof Item" + c + " item && item.count() > 3) { return item.name() + item.rest(); }\n"
                    + "        return switch (Colour" + c + ".values()[state % 3]) { case RED -> \"r\"; case GREEN -> key; case BLUE -> { yield what.toString(); } };\n    }\n");
            case 4 -> text.append("    public int " + name + "(String path) throws java.io.IOException {\n"
                    + "        try (java.io.Reader reader = new java.io.StringReader(path)) {\n"
                    + "            int c = 0; int sum = 0;\n"
                    + "            while ((c = reader.read()) >= 0) { sum = sum * 31 + c; }\n"
                    + "            synchronized (this) { state += sum; }\n            return sum;\n"
                    + "        } catch (IllegalStateException | NullPointerException e) {\n"
                    + "            throw new RuntimeException(\"failed at \" + path, e);\n        } finally { state--; }\n    }\n");
            default -> text.append("    public Map<Integer, Set<String>> " + name + "(String... names) {\n"
                    + "        Map<Integer, Set<String>> found = new TreeMap<>();\n"
                    + "        Runnable later = new Runnable() {\n            int runs;\n"
                    + "            @Override public void run() { runs++; for (String n : names) { found.computeIfAbsent(n.length(), k -> new HashSet<>()).add(n + runs); } }\n"
                    + "        };\n        later.run();\n"
                    + "        table.merge(\"x\", new ArrayList<>(List.of(1, " + dice.below(99) + ")), (a, b) -> { a.addAll(b); return a; });\n"
                    + "        Supplier<Part" + other + "> make = Part" + other + "::new;\n"
                    + "        return make.get() == null ? null : found;\n    }\n");
        }
    }
}
