import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Keeps sessions that nobody asks for any more, and is quiet until it is told to end. */
public class Leaking {
    static final int COUNT = 50_000;

    static final class Session {
        final int number;
        final String user;
        final byte[] page = new byte[100];

        Session(int number) {
            this.number = number;
            // A text of its own each time.
            this.user = new String("user-" + number % 10);
        }
    }

    static final class Order {
        final List<Integer> items;

        Order(int size) {
            items = new ArrayList<>(100);
            for (int i = 0; i < size; i++) {
                items.add(1_000_000 + i);
            }
        }
    }

    static final Map<Integer, Session> SESSIONS = new HashMap<>();
    static final List<WeakReference<Session>> SEEN = new ArrayList<>();
    static final Order[] ORDERS = new Order[1_000];

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < COUNT; i++) {
            SESSIONS.put(i, new Session(i));
            if (i % 100 == 0) {
                SEEN.add(new WeakReference<>(SESSIONS.get(i)));
            }
        }
        for (int i = 0; i < ORDERS.length; i++) {
            ORDERS[i] = new Order(i % 10);
        }
        System.out.println("working");
        System.in.read();
        System.out.println("done");
    }
}
