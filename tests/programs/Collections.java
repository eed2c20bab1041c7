import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Sorts, maps, queues and streams, with lambdas of every shape. */
public class Collections {
    static final class Person {
        private final String name;
        private final int age;
        private final double weight;

        Person(String name, int age, double weight) {
            if (age < 0) {
                throw new IllegalArgumentException(name);
            }
            this.name = name;
            this.age = age;
            this.weight = weight;
        }

        String name() {
            return name;
        }

        int age() {
            return age;
        }

        double weight() {
            return weight;
        }

        @Override
        public String toString() {
            return "Person[name=" + name + ", age=" + age + ", weight=" + weight + "]";
        }
    }

    private static int seed = 42;

    static int next() {
        seed = seed * 1103515245 + 12345;
        return seed >>> 8;
    }

    public static void main(String[] args) {
        int n = args.length > 0 ? Integer.parseInt(args[0]) : 200;
        List<Person> people = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            people.add(new Person("p" + next() % 50, next() % 90, next() / 1000.0));
        }
        people.sort(Comparator.comparing(Person::name).thenComparingInt(Person::age).reversed());
        Map<String, Double> weight = new HashMap<>();
        for (Person p : people) {
            weight.merge(p.name(), p.weight(), Double::sum);
        }
        Map<Integer, List<String>> byDecade = people.stream()
                .filter(p -> p.age() > 20)
                .collect(Collectors.groupingBy(p -> p.age() / 10, TreeMap::new,
                        Collectors.mapping(Person::name, Collectors.toList())));
        int[] numbers = IntStream.range(0, n * 3).map(i -> next()).toArray();
        Arrays.sort(numbers);
        Integer[] boxed = IntStream.of(numbers).boxed().toArray(Integer[]::new);
        Arrays.sort(boxed, (a, b) -> Integer.compare(b % 1000, a % 1000));
        PriorityQueue<Person> oldest = new PriorityQueue<>((a, b) -> b.age() - a.age());
        oldest.addAll(people);
        ArrayDeque<Integer> ages = new ArrayDeque<>();
        while (oldest.size() > n / 2) {
            ages.addFirst(oldest.poll().age());
        }
        String joined = Stream.of("a", "b", "c").flatMap(s -> Stream.of(s, s + s)).sorted(Comparator.reverseOrder())
                .collect(Collectors.joining(",", "<", ">"));
        Function<Integer, Function<Integer, Integer>> add = a -> b -> a + b;
        int sum = Stream.iterate(1, i -> i * 2).limit(20).reduce(0, (a, b) -> add.apply(a).apply(b));
        Runnable[] tasks = new Runnable[3];
        int[] cell = {0};
        for (int i = 0; i < tasks.length; i++) {
            int step = i;
            tasks[i] = () -> cell[0] += step;
        }
        for (Runnable task : tasks) {
            task.run();
        }
        System.out.println(byDecade.size() + " " + weight.size() + " " + numbers[n] + " " + boxed[7] + " " + ages.size()
                + " " + joined + " " + sum + " " + cell[0] + " " + people.get(0));
    }
}
