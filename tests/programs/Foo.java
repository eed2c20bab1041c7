/** The example of Binder's figure 5. */
public class Foo {
    static int f(int x) {
        return x * 2 + 1;
    }

    static int sum(int from, int to) {
        int result = 0;
        while (true) {
            if (from > to) {
                return result;
            }
            result += f(from);
            ++from;
        }
    }

    public static void main(String[] args) {
        System.out.println(sum(1, 1000));
    }
}
