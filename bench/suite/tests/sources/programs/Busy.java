//: name = "busy"
//: about = "spins as long as it is told to"
//: package = "bench"
//: warmup = 4
//: steady = 9
//: jvm = ["-Xms64m", "-Xmx64m", "-XX:+UseSerialGC"]
package bench;

/** A loop whose length is a property of the run: {@code -Dpercent=110} is a slowdown of a tenth. */
public final class Busy {
    public static void main(String[] args) throws Exception {
        long times = 60_000L * Integer.getInteger("percent", 100);
        Bench.run(() -> {
            spin(times);
            return 7;
        });
    }

    static long spin(long times) {
        long x = 1;
        for (long i = 0; i < times; i++) {
            x = x * 6364136223846793005L + i;
        }
        sink = x;
        return x;
    }

    static volatile long sink;
}
