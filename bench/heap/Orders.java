import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** {@code Orders COUNT FILE}: a heap of many small objects, as services have them, written to a dump by the JVM itself. */
public final class Orders {
    static final class Order {
        final long id;
        final String name;
        final List<Item> items = new ArrayList<>();
        Order parent;

        Order(long id) {
            this.id = id;
            this.name = "order-" + id;
        }
    }

    static final class Item {
        final int number;
        final Integer price;
        final String code;

        Item(int number) {
            this.number = number;
            this.price = number + 100_000;
            this.code = "code" + number % 1000;
        }
    }

    static final Map<Long, Order> ORDERS = new HashMap<>();

    public static void main(String[] args) throws Exception {
        long count = Long.parseLong(args[0]);
        Random random = new Random(7);
        Order last = null;
        for (long i = 0; i < count; i++) {
            Order order = new Order(i);
            order.parent = random.nextInt(4) == 0 ? last : null;
            last = order;
            for (int items = random.nextInt(6); items > 0; items--) {
                order.items.add(new Item(random.nextInt(1_000_000)));
            }
            ORDERS.put(i, order);
        }
        new File(args[1]).delete();
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(args[1], true);
    }
}
