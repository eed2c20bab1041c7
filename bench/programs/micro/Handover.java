//: name = "micro-handover"
//: about = "six threads that block for one monitor again and again"
//: package = "bench"
//: warmup = 8
//: steady = 10
//: jvm = ["-Xms256m", "-Xmx256m"]
package bench;

/** Each gives its processor away while it has the monitor, so that the others come to want it, and block. */
public final class Handover {
    private long guarded;

    public static void main(String[] args) throws Exception {
        Bench.run(() -> new Handover().run(6, 20_000));
    }

    private long run(int threads, int times) throws InterruptedException {
        Thread[] workers = new Thread[threads];
        for (int t = 0; t < threads; t++) {
            int seed = t;
            workers[t] = new Thread(() -> work(seed, times), "worker-" + t);
            workers[t].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
        return guarded;
    }

    private void work(int seed, int times) {
        for (int i = 0; i < times; i++) {
            synchronized (this) {
                guarded += (seed + i) & 7;
                Thread.yield();
            }
        }
    }
}
