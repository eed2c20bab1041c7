/** One method called from several places. */
public class Sites {
    static int sink;

    static void callee(int n) {
        sink += n;
    }

    static void caller() {
        callee(1);
        for (int i = 0; i < 5; i++) {
            callee(2);
        }
        callee(3);
    }

    public static void main(String[] args) {
        caller();
        caller();
    }
}
