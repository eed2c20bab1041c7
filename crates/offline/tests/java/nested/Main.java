package app;

/** In the fat jar's classes; what it calls is in a jar within the jar. */
public class Main {
    static int own(int n) {
        return n + 1;
    }

    public static void main(String[] args) {
        int n = 0;
        for (int i = 0; i < 30; i++) {
            n = own(n) + lib.Library.twice(n);
        }
        System.out.println(n);
    }
}
