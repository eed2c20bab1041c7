import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Loops and calls hot enough for every compiler, with what compilers like to change: concatenations, intrinsics,
 * exceptions without stack traces, calls with one, two and many receivers. Two threads of its own. */
public class Hot {
    interface Operation {
        int apply(int a, int b);
    }

    static class Add implements Operation {
        public int apply(int a, int b) {
            return a + b;
        }
    }

    static class Xor implements Operation {
        public int apply(int a, int b) {
            return a ^ b;
        }
    }

    static class Rotate implements Operation {
        public int apply(int a, int b) {
            return Integer.rotateLeft(a, b & 31) - b;
        }
    }

    static int sum(Operation[] operations, int n) {
        int result = 1;
        for (int i = 0; i < n; i++) {
            result = operations[i % operations.length].apply(result, i);
        }
        return result;
    }

    static int sieve(int n) {
        boolean[] composite = new boolean[n + 1];
        int primes = 0;
        for (int i = 2; i <= n; i++) {
            if (!composite[i]) {
                primes++;
                for (long j = (long) i * i; j <= n; j += i) {
                    composite[(int) j] = true;
                }
            }
        }
        return primes;
    }

    static int exceptional(int n) {
        int[] small = new int[10];
        int caught = 0;
        for (int i = 0; i < n; i++) {
            try {
                small[i % 11]++;
            } catch (ArrayIndexOutOfBoundsException expected) {
                caught++;
            }
        }
        return caught;
    }

    static int text(int n) {
        Map<String, Integer> counts = new HashMap<>();
        for (int i = 0; i < n; i++) {
            String key = "key-" + i % 97 + "/" + (char) ('a' + i % 26);
            counts.merge(key, 1, Integer::sum);
            if (key.startsWith("key-1") && key.indexOf('/') > 4 && key.equals("key-" + 11 + "/a")) {
                counts.put(key.substring(2), key.hashCode());
            }
        }
        int sum = 0;
        for (int value : new TreeMap<>(counts).values()) {
            sum = sum * 31 + value;
        }
        return sum;
    }

    static int lists(int n) {
        List<Integer> numbers = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            numbers.add(i * 7919 % 1009);
        }
        numbers.sort(null);
        int[] copy = numbers.stream().mapToInt(Integer::intValue).toArray();
        Arrays.sort(copy);
        Map<Integer, Long> groups = numbers.stream().collect(Collectors.groupingBy(x -> x % 7, Collectors.counting()));
        return groups.get(3).intValue() + Arrays.hashCode(copy);
    }

    static long allocate(int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            byte[] garbage = new byte[512 + i % 512];
            garbage[i % 512] = (byte) i;
            sum += garbage[i % 512] + garbage.length;
        }
        return sum;
    }

    static int fibonacci(int n) {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }

    static void all(int scale) {
        Operation[] one = {new Add()}, two = {new Add(), new Xor()}, many = {new Add(), new Xor(), new Rotate()};
        int result = sum(one, 4000 * scale) + sum(two, 4000 * scale) + sum(many, 4000 * scale);
        result += sieve(4000 * scale) + exceptional(500 * scale) + text(200 * scale) + lists(100 * scale);
        result += (int) allocate(200 * scale) + fibonacci(18);
        synchronized (Hot.class) {
            total += result;
        }
    }

    static int total;

    public static void main(String[] args) throws Exception {
        int scale = Integer.parseInt(args[0]);
        Thread[] threads = {new Thread(() -> all(scale), "first"), new Thread(() -> all(scale), "second")};
        for (Thread thread : threads) {
            thread.start();
            thread.join();
        }
        all(scale);
        System.out.println(total);
    }
}
