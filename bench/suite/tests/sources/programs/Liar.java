//: name = "liar"
//: about = "comes to another result when it is told to"
//: package = "bench"
//: warmup = 1
//: steady = 2
package bench;

public final class Liar {
    public static void main(String[] args) throws Exception {
        Bench.run(() -> Boolean.getBoolean("lie") ? 2 : 1);
    }
}
