/** Ways into, through and out of methods; the test inserts calls of {@code hit} and reads what they print. */
public class Ways {
    static StringBuilder log = new StringBuilder();

    public static class Log {
        public static void hit(int what) { log.append((char) what); }
    }

    static int loopAtZero(int n) { do { n--; } while (n > 0); return n; }

    static int branches(int n) { if (n > 0) return 1; else return 2; }

    static int caught(int n) {
        try { return 10 / n; } catch (ArithmeticException e) { return -1; }
    }

    static int thrown(int n) {
        try { return new int[n].length; } finally { n = 0; }
    }

    static class Base {
        Base(int n) { if (n == 3) throw new IllegalStateException(); }
    }

    static class Derived extends Base {
        Derived(int n) {
            super(n == 1 ? 10 / (n - 1) : n);
            if (n == 2) throw new IllegalArgumentException();
        }
    }

    interface Run { void run(); }

    static void show(String name, Run run) {
        log.setLength(0);
        String end = "";
        try { run.run(); } catch (RuntimeException e) { end = " " + e.getClass().getSimpleName(); }
        String events = log.toString();
        System.out.println(name + " " + events + end);
    }

    public static void main(String[] args) {
        show("loopAtZero", () -> loopAtZero(3));
        show("branches1", () -> branches(1));
        show("branches0", () -> branches(0));
        show("caught", () -> caught(0));
        show("uncaught", () -> caught(5));
        show("thrown", () -> thrown(-1));
        show("returned", () -> thrown(1));
        show("before-super", () -> new Derived(1));
        show("in-super", () -> new Derived(3));
        show("after-super", () -> new Derived(2));
        show("constructed", () -> new Derived(0));
    }
}
