/** Works until it is told to end, and says when it is. */
public class Told {
    static volatile int sink;

    static void work(int n) {
        for (int i = 0; i < n; i++) {
            sink = i;
        }
    }

    static void end() throws InterruptedException {
        System.out.println("ending");
        // Long enough for another signal to come meanwhile.
        Thread.sleep(300);
        System.out.println("ended");
    }

    public static void main(String[] args) {
        Runtime.getRuntime().addShutdownHook(new Thread("hook") {
            @Override
            public void run() {
                try {
                    end();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        });
        work(1_000);
        System.out.println("working");
        while (true) {
            work(1_000);
        }
    }
}
