/** Calls the same methods again and again until somebody closes its input. */
public class Working {
    static volatile int sink;

    static void work(int n) {
        for (int i = 0; i < n; i++) {
            sink = i;
        }
    }

    static void round() {
        work(10);
        work(1_000);
    }

    public static void main(String[] args) throws Exception {
        System.out.println("working");
        while (System.in.available() == 0) {
            round();
        }
        System.out.println("done");
    }
}
