//: name = "micro-static"
//: about = "tiny static methods, statically bound, inlined away in plain code"
//: package = "bench"
//: warmup = 10
//: steady = 10
//: jvm = ["-Xms256m", "-Xmx256m"]
package bench;

public final class StaticCalls {
    public static void main(String[] args) throws Exception {
        Bench.run(() -> {
            int x = 1;
            for (int i = 0; i < 20_000_000; i++) {
                x = step(x, i);
            }
            return x;
        });
    }

    static int step(int x, int i) {
        return rotate(add(x, i));
    }

    static int add(int x, int i) {
        return x * 31 + i;
    }

    static int rotate(int x) {
        return (x << 5) ^ (x >>> 27);
    }
}
