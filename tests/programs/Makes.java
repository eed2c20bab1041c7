import java.util.ArrayList;
import java.util.List;

/** Makes known numbers of objects of known classes, at known places, in as many threads as it is told. */
public class Makes {
    static final class Small {
        long first;
        long second;
    }

    static final class Other {
        Object one;
    }

    private static volatile Object last;

    public static void main(String[] arguments) throws InterruptedException {
        int threads = Integer.parseInt(arguments[0]);
        int rounds = Integer.parseInt(arguments[1]);
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(() -> work(rounds), "maker-" + i);
            thread.start();
            all.add(thread);
        }
        Thread large = new Thread(() -> large(threads * rounds / 1000), "large");
        large.start();
        all.add(large);
        for (Thread thread : all) {
            thread.join();
        }
        System.out.println("made");
    }

    /** In each round the same objects, in an order that no other round predicts: samplers must not fall in step with it. */
    private static void work(int rounds) {
        long random = Thread.currentThread().getName().hashCode() * 0x9E3779B97F4A7C15L | 1;
        for (int i = 0; i < rounds; i++) {
            random ^= random << 13;
            random ^= random >>> 7;
            random ^= random << 17;
            int first = (int) (random >>> 60) & 3;
            for (int j = 0; j < 4; j++) {
                switch (first + j & 3) {
                    case 0:
                        other();
                        break;
                    case 1:
                        array();
                        break;
                    default:
                        small();
                }
            }
        }
    }

    private static void small() {
        last = new Small();
    }

    private static void other() {
        last = new Other();
    }

    private static void array() {
        last = new int[100];
    }

    private static void large(int count) {
        for (int i = 0; i < count; i++) {
            last = new byte[1 << 20];
        }
    }
}
