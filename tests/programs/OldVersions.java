/** Loops deep in a stack until somebody closes its input: its methods do not return when their class is changed. */
public class OldVersions {
    static volatile int sink;

    static void work(int n) {
        for (int i = 0; i < n; i++) {
            sink = i;
        }
    }

    static void loop() throws Exception {
        while (System.in.available() == 0) {
            work(1_000);
        }
    }

    static void descend(int depth) throws Exception {
        if (depth == 0) {
            loop();
        } else {
            descend(depth - 1);
        }
    }

    public static void main(String[] args) throws Exception {
        System.out.println("working");
        descend(20);
        System.out.println("done");
    }
}
