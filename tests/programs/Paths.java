/**
 * One loop in five contexts, of which each has its share of the work: 10 %, 20 %, 15 %, 25 % and 30 %. They follow each other every
 * some ten microseconds, so that whoever takes a context for the one before it or behind it gets other shares. Argument: rounds.
 */
public class Paths {
    static volatile int sink;

    /** Calls nothing, so that it publishes nothing. */
    static int spin(int n) {
        int x = n;
        for (int i = 0; i < n * 2000; i++) {
            x = x * 31 + (x >>> 7);
        }
        return x;
    }

    /** Works itself, and calls. */
    static int mixed(int n) {
        int x = spin(1);
        for (int i = 0; i < n * 2000; i++) {
            x = x * 31 + (x >>> 7);
        }
        return x + little(x);
    }

    static int little(int x) {
        return x + 1;
    }

    static int left(int n) {
        return spin(2) + inner(3);
    }

    static int right(int n) {
        return spin(4) + inner(5);
    }

    static int inner(int n) {
        return spin(n);
    }

    static int deep(int depth) {
        return depth > 0 ? deep(depth - 1) : mixed(5);
    }

    public static void main(String[] arguments) {
        int rounds = Integer.parseInt(arguments[0]);
        for (int i = 0; i < rounds; i++) {
            sink += left(i) + right(i) + deep(30);
        }
        System.out.println("done");
    }
}
