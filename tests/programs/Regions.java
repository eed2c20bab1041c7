/** A method of which a part takes a millisecond at least, and the rest of each round twice as much. */
public class Regions {
    static int entered;
    static long around;

    static void spin(long nanos) {
        long began = System.nanoTime();
        while (System.nanoTime() - began < nanos) {}
    }

    static void work(int rounds) {
        for (int i = 0; i < rounds; i++) {
            spin(2_000_000);
            long began = System.nanoTime();
            try {
                // from
                entered++;
                spin(1_000_000);
                if (i % 3 == 0) {
                    continue;
                }
                if (i % 3 == 1) {
                    throw new IllegalStateException("out of it");
                }
                spin(1_000);
                // to
            } catch (IllegalStateException e) {
                spin(1_000);
            } finally {
                around += System.nanoTime() - began;
            }
        }
    }

    public static void main(String[] arguments) {
        work(30);
        work(30);
        System.out.println("entered " + entered);
        System.out.println("around " + around);
    }
}
