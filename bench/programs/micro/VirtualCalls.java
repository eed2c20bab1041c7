//: name = "micro-virtual"
//: about = "tiny virtual methods, one receiver class at every call site"
//: package = "bench"
//: warmup = 10
//: steady = 10
//: jvm = ["-Xms256m", "-Xmx256m"]
package bench;

public final class VirtualCalls {
    abstract static class Cell {
        int value;

        abstract int next(int x);

        abstract Cell neighbour();
    }

    static class Ring extends Cell {
        Cell right;

        @Override
        int next(int x) {
            value = value * 31 + x;
            return value;
        }

        @Override
        Cell neighbour() {
            return right;
        }
    }

    public static void main(String[] args) throws Exception {
        Bench.run(() -> {
            Ring first = ring(64);
            Cell at = first;
            int x = 1;
            for (int i = 0; i < 20_000_000; i++) {
                x = at.next(x);
                at = at.neighbour();
            }
            return x;
        });
    }

    private static Ring ring(int size) {
        Ring first = new Ring();
        Ring last = first;
        for (int i = 1; i < size; i++) {
            Ring next = new Ring();
            last.right = next;
            last = next;
        }
        last.right = first;
        return first;
    }
}
