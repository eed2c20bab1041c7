//: name = "micro-megamorphic"
//: about = "interface calls with eight receiver classes at one call site"
//: package = "bench"
//: warmup = 10
//: steady = 10
//: jvm = ["-Xms256m", "-Xmx256m"]
package bench;

public final class Megamorphic {
    interface Shape {
        int area(int x);
    }

    record A(int k) implements Shape { public int area(int x) { return x + k; } }
    record B(int k) implements Shape { public int area(int x) { return x ^ k; } }
    record C(int k) implements Shape { public int area(int x) { return x * 3 + k; } }
    record D(int k) implements Shape { public int area(int x) { return x - k; } }
    record E(int k) implements Shape { public int area(int x) { return (x >>> 1) + k; } }
    record F(int k) implements Shape { public int area(int x) { return x * 5 ^ k; } }
    record G(int k) implements Shape { public int area(int x) { return ~x + k; } }
    record H(int k) implements Shape { public int area(int x) { return (x << 3) ^ (x >>> 5) ^ k; } }

    public static void main(String[] args) throws Exception {
        Dice dice = new Dice(7);
        Shape[] shapes = new Shape[1024];
        for (int i = 0; i < shapes.length; i++) {
            shapes[i] = switch (dice.below(8)) {
                case 0 -> new A(i);
                case 1 -> new B(i);
                case 2 -> new C(i);
                case 3 -> new D(i);
                case 4 -> new E(i);
                case 5 -> new F(i);
                case 6 -> new G(i);
                default -> new H(i);
            };
        }
        Bench.run(() -> {
            int x = 1;
            for (int i = 0; i < 6_000_000; i++) {
                x = shapes[i & 1023].area(x);
            }
            return x;
        });
    }
}
