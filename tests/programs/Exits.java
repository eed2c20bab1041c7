/** Ends in the middle of several methods, straight ones and others. */
public class Exits {
    static void straight() {
        System.exit(0);
    }

    static int branching(int n) {
        if (n > 0) {
            straight();
        }
        return n;
    }

    public static void main(String[] args) {
        branching(1 - args.length);
    }
}
