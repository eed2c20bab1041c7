//: name = "micro-allocation"
//: about = "small objects, collections and strings, most of them short-lived"
//: package = "bench"
//: warmup = 10
//: steady = 10
//: jvm = ["-Xms512m", "-Xmx512m"]
package bench;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

public final class Allocation {
    record Pair(int left, Object right) {}

    public static void main(String[] args) throws Exception {
        Bench.run(() -> {
            long sum = 0;
            for (int round = 0; round < 200; round++) {
                List<Pair> pairs = new ArrayList<>();
                Map<Integer, String> names = new HashMap<>();
                for (int i = 0; i < 5_000; i++) {
                    pairs.add(new Pair(i, new int[i & 15]));
                    names.put(i * 7, new StringBuilder("n").append(i).toString());
                }
                for (Pair pair : pairs) {
                    String name = names.get(pair.left());
                    sum += pair.left() + ((int[]) pair.right()).length + (name == null ? 0 : name.length());
                }
            }
            return sum;
        });
    }
}
