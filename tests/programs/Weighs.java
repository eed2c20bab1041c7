/** Two methods that take about as long as each other: one calls small methods all the time, one calls nothing. */
public class Weighs {
    private static int sink;

    public static void main(String[] arguments) {
        int rounds = Integer.parseInt(arguments[0]);
        for (int i = 0; i < rounds; i++) {
            calls();
            loops();
        }
        System.out.println(sink == 42 ? "" : "weighed");
    }

    private static void calls() {
        int sum = sink;
        for (int i = 0; i < 100_000; i++) {
            sum += outer(sum);
        }
        sink = sum;
    }

    private static int outer(int n) {
        return inner(n) + inner(n + 1);
    }

    private static int inner(int n) {
        return leaf(n) ^ n;
    }

    private static int leaf(int n) {
        return n * 31 + 7;
    }

    private static void loops() {
        int sum = sink;
        for (int i = 0; i < 200_000; i++) {
            sum = (sum * 31 + 7 ^ i) % 1_000_003;
        }
        sink = sum;
    }
}
