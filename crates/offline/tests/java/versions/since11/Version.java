package multi;

class Version {
    static int calls;

    static String name() {
        return "eleven";
    }

    static void count() {
        twice();
        twice();
    }

    private static void twice() {
        calls++;
    }
}
