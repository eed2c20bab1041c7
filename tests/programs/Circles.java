/** Small methods that call each other in circles and nothing else, for long: by their names, and within one class. */
public class Circles {
    static class Pair {
        final Pair left;
        final Pair right;

        Pair(int depth) {
            left = depth == 0 ? null : new Pair(depth - 1);
            right = depth == 0 ? null : new Pair(depth - 1);
        }

        int size() {
            return left == null ? 1 : left.size() + right.size();
        }
    }

    static int even(int n) {
        return n < 2 ? n : odd(n - 1) + odd(n - 2);
    }

    static int odd(int n) {
        return n < 2 ? 1 : twice(even(n - 1)) - even(n - 2);
    }

    static int twice(int n) {
        return n + n;
    }

    public static void main(String[] args) {
        int n = Integer.parseInt(args[0]);
        System.out.println(even(n) + new Pair(n - 10).size());
    }
}
