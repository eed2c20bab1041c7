import java.util.ArrayList;
import java.util.List;

/** Switches over types and records, sequenced collections. */
public class Patterns {
    sealed interface Shape permits Circle, Square, Pair {}

    record Circle(double radius) implements Shape {}

    record Square(double side) implements Shape {}

    record Pair(Shape left, Shape right) implements Shape {}

    enum Colour { RED, GREEN }

    static double area(Shape shape) {
        return switch (shape) {
            case Circle(double radius) when radius > 10 -> -1;
            case Circle(double radius) -> 3 * radius * radius;
            case Square square -> square.side() * square.side();
            case Pair(Circle(var a), Square(var b)) -> a + b;
            case Pair(Shape left, Shape right) -> area(left) + area(right);
        };
    }

    static String describe(Object o) {
        return switch (o) {
            case null -> "null";
            case Integer i when i > 10 -> "large " + i;
            case Integer i -> "small " + i;
            case String s -> "text of " + s.length();
            case Colour c when c == Colour.RED -> "red";
            case int[] array -> "ints " + array.length;
            default -> "other";
        };
    }

    public static void main(String[] args) {
        List<Object> things = new ArrayList<>(List.of(1, 100, "text", Colour.RED, Colour.GREEN, new int[4], 2.0));
        things.add(null);
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < 20; i++) {
            for (Object thing : things) {
                out.append(describe(thing));
            }
        }
        Shape shape = new Pair(new Pair(new Circle(2), new Square(3)), new Pair(new Square(1), new Circle(20)));
        System.out.println(out.length() + " " + area(shape) + " " + things.reversed().get(1));
    }
}
