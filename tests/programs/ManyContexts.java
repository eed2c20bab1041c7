/** Two methods that call both of them, so many levels deep: twice as many contexts on each level. */
public class ManyContexts {
    static int left(int levels) {
        return levels == 0 ? 1 : left(levels - 1) + right(levels - 1);
    }

    static int right(int levels) {
        return levels == 0 ? 1 : left(levels - 1) + right(levels - 1);
    }

    public static void main(String[] args) {
        System.out.println(left(Integer.parseInt(args[0])));
    }
}
