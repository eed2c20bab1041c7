/** Threads, one group after the other, each of which calls a method once and ends. */
public class Brief {
    /** Makes a thread that is not started yet. */
    interface Maker {
        Thread make(Runnable work, int number);
    }

    private static final int AT_ONCE = 50;

    private static volatile int sink;

    static int step(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum += i % 7;
        }
        return sum;
    }

    static void call() {
        for (int i = 0; i < 3; i++) {
            sink = step(100);
        }
    }

    static void run(int count, Maker maker) throws InterruptedException {
        Thread[] threads = new Thread[AT_ONCE];
        for (int begun = 0; begun < count; begun += AT_ONCE) {
            for (int i = 0; i < AT_ONCE; i++) {
                threads[i] = maker.make(Brief::call, begun + i);
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
        System.out.println(count + " threads");
    }

    public static void main(String[] arguments) throws InterruptedException {
        run(Integer.parseInt(arguments[0]), (work, number) -> new Thread(work, "brief-" + number));
    }
}
