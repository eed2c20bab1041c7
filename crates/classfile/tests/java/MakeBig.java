import java.io.PrintWriter;

/**
 * Writes the source of class Big: methods just short of where branches stop reaching, so that instrumentation pushes
 * them over. Every kind of jump spans the long part, with values of many types alive across it.
 */
public class MakeBig {
    public static void main(String[] args) throws Exception {
        int n = Integer.parseInt(args[1]);
        try (PrintWriter out = new PrintWriter(args[0] + "/Big.java")) {
            out.println("public class Big {");
            out.println("  long f; String name; int[][] grid = {{1, 2}, {3, 4}};");
            out.println("  static int cheap(int x) { return x * 31 + 7; }");
            method(out, n, "ifs", "if (k % 3 != 0) {", "} else { s = -s; }");
            method(out, n, "loop", "for (int i = 0; i < k && s != 42; i++) {", "}");
            method(out, n, "sw", "switch (k & 3) { case 0: case 1: {", "} case 2: s ^= 5; break; default: s ^= 9; }");
            method(out, n, "tries", "try { if (k == 2) throw new RuntimeException(); ", "} catch (RuntimeException e) { s += 3; }");
            method(out, n, "nulls", "Object[] os = {name, k == 1 ? null : this}; if (os[1] != null) {", "}");
            method(out, n, "nested", "s += new StringBuilder(k > 1 ? \"ab\" : \"c\").length(); while (k-- > 0) { if (k == 1) continue; if (s == 99) break;", "}");
            out.println("  public static void main(String[] a) {");
            out.println("    long all = 0; Big b = new Big();");
            out.println("    for (int k = 0; k < 5; k++) {");
            for (String m : new String[] {"ifs", "loop", "sw", "tries", "nulls", "nested"})
                out.println("      all = all * 31 + b." + m + "(k, 2.5, \"x\", new long[] {k, 4}); System.out.println(all);");
            out.println("    }\n  }\n}");
        }
    }

    static void method(PrintWriter out, int n, String name, String head, String tail) {
        out.println("  long " + name + "(int k, double d, String t, long[] ls) { int s = k; Object o = t; int[][] g = grid;");
        out.println("    " + head);
        for (int i = 0; i < n; i++)
            out.println("      s = cheap(s) + (int) ls[" + (i & 1) + "]; f += s & " + i + ";");
        out.println("    " + tail);
        out.println("    return s + f + g[1][0] + (long) d + o.hashCode(); }");
    }
}
