import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * Three threads that call the same few methods again and again: one set of methods until a line of input comes, another until
 * the next one, and so on. One is busy half of the time, the others less. The line {@code end} ends it.
 */
public class Steady {
    static volatile int sink;
    static volatile int turn;
    static volatile boolean done;

    static void even() {
        evenWork(10);
        evenMore();
    }

    static void evenMore() {
        evenWork(20);
        evenWork(30);
    }

    static void evenWork(int n) {
        for (int i = 0; i < n; i++) {
            sink = i;
        }
    }

    static void odd() {
        oddWork(10);
        oddMore();
    }

    static void oddMore() {
        oddWork(20);
        oddWork(30);
    }

    static void oddWork(int n) {
        for (int i = 0; i < n; i++) {
            sink = i;
        }
    }

    /** One of the threads, which says which turn it has come to. */
    static final class Worker extends Thread {
        volatile int at = -1;

        final boolean busy;

        Worker(String name, boolean busy) {
            super(name);
            this.busy = busy;
        }

        @Override
        public void run() {
            long begin = System.nanoTime();
            for (int rounds = 1; !done; rounds++) {
                int now = turn;
                at = now;
                if ((now & 1) == 0) {
                    even();
                } else {
                    odd();
                }
                // As long as it worked: whoever attaches needs a processor, too.
                if (!busy || (rounds % 64 == 0 && System.nanoTime() - begin > 1_000_000)) {
                    rest();
                    begin = System.nanoTime();
                }
            }
        }

        static void rest() {
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Worker[] workers = {new Worker("alpha", true), new Worker("beta-1", false), new Worker("beta-2", false)};
        for (Worker worker : workers) {
            worker.start();
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        do {
            for (Worker worker : workers) {
                while (worker.at != turn) {
                    Thread.sleep(1);
                }
            }
            System.out.println("working");
            String line = in.readLine();
            done = line == null || line.equals("end");
            turn++;
        } while (!done);
        for (Worker worker : workers) {
            worker.join();
        }
        System.out.println("done");
    }
}
