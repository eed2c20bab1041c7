/** One thread that always calls something, and others that do it for a moment and then sleep. Says how often each was called, in thousands. */
public class Unequal {
    private static final int SLEEPERS = 16;
    private static final int ROUNDS = 100;

    static volatile int sink;

    static int often(int n) {
        return n * 31 + 7;
    }

    static int seldom(int n) {
        return n * 31 + 7;
    }

    static void thousandOften() {
        int n = sink;
        for (int i = 0; i < 1_000; i++) {
            n = often(n);
        }
        sink = n;
    }

    static void thousandSeldom() {
        int n = sink;
        for (int i = 0; i < 1_000; i++) {
            n = seldom(n);
        }
        sink = n;
    }

    /** For so many milliseconds. */
    public static void main(String[] args) throws InterruptedException {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
        long[] called = new long[SLEEPERS];
        Thread[] threads = new Thread[SLEEPERS];
        for (int i = 0; i < SLEEPERS; i++) {
            int number = i;
            threads[i] = new Thread(() -> {
                try {
                    while (System.nanoTime() < end) {
                        for (int round = 0; round < ROUNDS; round++) {
                            thousandSeldom();
                        }
                        called[number] += ROUNDS;
                        Thread.sleep(10);
                    }
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }, "sleeper-" + i);
            threads[i].start();
        }
        long often = 0;
        while (System.nanoTime() < end) {
            thousandOften();
            often++;
        }
        long seldom = 0;
        for (int i = 0; i < SLEEPERS; i++) {
            threads[i].join();
            seldom += called[i];
        }
        System.out.println(often + " " + seldom);
    }
}
