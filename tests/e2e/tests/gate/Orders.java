import java.util.ArrayList;
import java.util.List;

/** A program whose work is known to the bytecode. */
public class Orders {
    public static void main(String[] arguments) {
        List<Integer> orders = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            orders.add(i * 7 % 101);
        }
        long total = 0;
        for (int order : orders) {
            total += price(order);
        }
        System.out.println(total);
    }

    static long price(int order) {
        long base = order * 2L;
        long price = base + discount(order);
        return price;
    }

    private static long discount(int order) {
        long sum = 0;
        for (int i = 0; i < order; i++) {
            sum += i;
        }
        return sum;
    }
}
