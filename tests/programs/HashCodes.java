/** Prints identity hash codes: of objects, and of a class that was used in between. */
public class HashCodes {
    static int next() {
        return System.identityHashCode(new Object());
    }

    static final class Other {
        static int next() {
            return HashCodes.next();
        }
    }

    public static void main(String[] args) throws Exception {
        int first = next();
        Class.forName("HashCodes$Other");
        System.out.println(first + " " + Other.next() + " " + next() + " " + System.identityHashCode(Other.class));
    }
}
