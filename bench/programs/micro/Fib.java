//: name = "micro-fib"
//: about = "recursion: every call is a context one deeper"
//: package = "bench"
//: warmup = 8
//: steady = 10
//: jvm = ["-Xms256m", "-Xmx256m"]
//: checksum = "8cccc9"
package bench;

public final class Fib {
    public static void main(String[] args) throws Exception {
        Bench.run(() -> fib(35));
    }

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }
}
