import java.util.HashMap;
import java.util.Map;

/** The same work again and again; prints how many milliseconds each piece of it took, until its input ends. */
public class Steady {
    static int step(Map<Integer, Integer> map, int n) {
        return map.merge(n & 1023, n, (a, b) -> a ^ b);
    }

    static int piece() {
        Map<Integer, Integer> map = new HashMap<>();
        int sum = 0;
        for (int i = 0; i < 2_000_000; i++) {
            sum += step(map, i * 31);
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        int sum = 0;
        while (System.in.available() == 0) {
            long began = System.nanoTime();
            sum += piece();
            System.out.println((System.nanoTime() - began) / 1e6);
        }
        System.err.println(sum);
    }
}
