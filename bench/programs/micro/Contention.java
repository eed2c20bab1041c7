//: name = "micro-contention"
//: about = "four threads, one monitor and one lock, short critical sections"
//: package = "bench"
//: warmup = 8
//: steady = 10
//: jvm = ["-Xms256m", "-Xmx256m"]
package bench;

import java.util.concurrent.locks.ReentrantLock;

public final class Contention {
    private final ReentrantLock lock = new ReentrantLock();
    private long guarded;
    private long locked;

    public static void main(String[] args) throws Exception {
        Bench.run(() -> new Contention().run(4, 800_000));
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
        return Bench.mix(guarded, locked);
    }

    private void work(int seed, int times) {
        int x = seed;
        for (int i = 0; i < times; i++) {
            x = x * 31 + i;
            synchronized (this) {
                guarded += x & 7;
            }
            lock.lock();
            try {
                locked += x & 3;
            } finally {
                lock.unlock();
            }
        }
    }
}
