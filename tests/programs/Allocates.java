/** Makes known numbers of objects and arrays. */
public class Allocates {
    private static Object last;

    public static void main(String[] arguments) {
        for (int i = 0; i < 100; i++) {
            if (i % 4 == 0) {
                pair();
            } else {
                last = new int[i];
            }
        }
        last = new Object[2][3];
        strings(7);
    }

    private static void pair() {
        last = new Object();
        last = new long[] {1, 2};
    }

    private static void strings(int count) {
        String[] strings = new String[count];
        for (int i = 0; i < count; i++) {
            strings[i] = "same";
        }
        last = strings;
    }
}
