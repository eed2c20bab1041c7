/**
 * Computes below two callers of one method, in turns, for so many milliseconds: with frames of different sizes ("simple"), or of one
 * size, so that the depth of the stack does not tell which of them it was ("ambiguous").
 */
public class Branches {
    static volatile long sink;

    static long spin(int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            sum = sum * 31 + i;
        }
        return sum;
    }

    static void leaf(int n) {
        sink += spin(n);
    }

    static void shared(int n) {
        leaf(n);
    }

    static void outer(int n) {
        shared(n);
    }

    static void left(int n) {
        outer(n);
    }

    static void right(int n) {
        outer(n);
    }

    static void wide(int n, long a, long b, long c, long d) {
        long e = a + b;
        long f = c + d;
        outer(n);
        sink += a + b + c + d + e + f;
    }

    static void work(boolean simple) {
        left(20_000);
        if (simple) {
            wide(20_000, 1, 2, 3, 4);
        } else {
            right(20_000);
        }
    }

    public static void main(String[] arguments) {
        boolean simple = arguments[0].equals("simple");
        long end = System.nanoTime() + Long.parseLong(arguments[1]) * 1_000_000;
        while (System.nanoTime() < end) {
            work(simple);
        }
        System.out.println("done");
    }
}
