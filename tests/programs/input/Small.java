package small;

import java.util.*;
import java.util.function.*;

/** What the compiler is given to compile. */
public class Small<T extends Comparable<T>> implements Iterable<T> {
    private final List<T> items = new ArrayList<>();

    enum Colour { RED, GREEN { @Override int weight() { return 2; } }; int weight() { return 1; } }

    record Pair<A, B>(A first, B second) {}

    sealed interface Shape permits Circle, Square {}
    record Circle(double radius) implements Shape {}
    record Square(double side) implements Shape {}

    static double area(Shape s) {
        if (s instanceof Circle c) {
            return Math.PI * c.radius() * c.radius();
        }
        return s instanceof Square q ? q.side() * q.side() : 0;
    }

    @Override
    public Iterator<T> iterator() {
        return items.iterator();
    }

    <R> List<R> map(Function<? super T, ? extends R> f) {
        List<R> result = new ArrayList<>();
        for (T item : this) {
            result.add(f.apply(item));
        }
        return result;
    }

    public static void main(String... args) throws Exception {
        Small<String> small = new Small<>();
        for (String arg : args) {
            small.items.add(switch (arg) {
                case "a", "b" -> "first";
                default -> arg + "!";
            });
        }
        try (var in = new java.io.StringReader("x")) {
            in.read();
        } finally {
            System.out.println(small.map(s -> new Pair<>(s, s.length())) + """
                done
                """);
        }
    }
}
