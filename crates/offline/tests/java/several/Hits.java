package several;

/** What the instruments of the test call. */
public class Hits {
    private static final int[] open = new int[10_000];
    private static int depth, made, locked, entered, left, wrong;

    public static void made() { made++; }

    public static void locked() { locked++; }

    public static void enter(int instrument) {
        entered++;
        open[depth++] = instrument;
    }

    /** Instruments must leave a method in the order opposite to the one in which they entered it. */
    public static void leave(int instrument) {
        left++;
        if (depth == 0 || open[--depth] != instrument) wrong++;
    }

    static void print() {
        System.out.println(made);
        System.out.println(locked);
        System.out.println(entered);
        System.out.println(left);
        System.out.println(wrong);
    }
}
