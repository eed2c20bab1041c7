/**
 * A method that calls itself once each time, beside calls of the library. Argument: milliseconds.
 */
public class Entered {
    static long entered;
    static volatile String last;

    /** Called twice each time, by another method and by itself. */
    static void again(int left) {
        entered++;
        if (left > 0) {
            again(left - 1);
        }
    }

    static void round(int i) {
        again(1);
        // Calls of the library's, many for each of the program's own.
        last = Long.toString(i * 1_234_567L).concat(".");
    }

    public static void main(String[] args) {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
        int rounds = 0;
        do {
            for (int i = 0; i < 10_000; i++) {
                round(i);
            }
            rounds += 10_000;
        } while (System.nanoTime() < end);
        System.out.println(entered == 2L * rounds ? "twice each" : entered + " in " + rounds);
    }
}
