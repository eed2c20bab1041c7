import java.lang.ref.Cleaner;

/** Lets a cleaner have what the collector changes behind a program's back. With an argument, garbage is collected all the time. */
public final class Cleaned {
    private static final Cleaner CLEANER = Cleaner.create();
    static long sink;

    private static void work(int rounds) {
        for (int i = 0; i < rounds; i++) {
            CLEANER.register(new Object(), () -> sink++);
        }
    }

    public static void main(String[] arguments) {
        if (arguments.length > 0) {
            Thread collector = new Thread(() -> {
                while (true) {
                    System.gc();
                }
            }, "collects");
            collector.setDaemon(true);
            collector.start();
        }
        work(1500);
    }
}
