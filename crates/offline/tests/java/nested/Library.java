package lib;

public class Library {
    public static int twice(int n) {
        return add(n, n);
    }

    static int add(int a, int b) {
        return a + b;
    }
}
