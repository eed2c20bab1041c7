package multi;

class Version {
    static int calls;

    static String name() {
        return "base";
    }

    static void count() {
        calls++;
    }
}
