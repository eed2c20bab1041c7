//: name = "jackson"
//: about = "Jackson: JSON to objects, to a tree, changed, and back to text"
//: maven = ["com.fasterxml.jackson.core:jackson-databind:2.18.2"]
//: package = "com.fasterxml.jackson"
//: warmup = 16
//: steady = 8
//: quick = { warmup = 8, steady = 4 }
//: jvm = ["-Xms1g", "-Xmx1g"]
package bench;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;

public final class Jackson {
    public static final class Order {
        public int id;
        public String customer;
        public double total;
        public boolean paid;
        public List<Line> lines;
        public Map<String, String> labels;
    }

    public record Line(String product, int count, long price) {}

    public static void main(String[] args) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        String text = orders(4_000);
        TypeReference<List<Order>> type = new TypeReference<>() {};
        Bench.run(() -> {
            long sum = 0;
            for (int i = 0; i < 3; i++) {
                List<Order> orders = mapper.readValue(text, type);
                for (Order order : orders) {
                    order.total = order.lines.stream().mapToLong(line -> line.count() * line.price()).sum() / 100.0;
                }
                sum = Bench.mix(sum, mapper.writeValueAsString(orders));
                JsonNode tree = mapper.readTree(text);
                for (JsonNode order : tree) {
                    ((ObjectNode) order).put("lines", order.get("lines").size()).remove("labels");
                }
                sum = Bench.mix(sum, tree.toString());
            }
            return sum;
        });
    }

    private static String orders(int count) {
        Dice dice = new Dice(21);
        StringBuilder text = new StringBuilder("[");
        for (int i = 0; i < count; i++) {
            text.append(i == 0 ? "" : ",").append("{\"id\":").append(i).append(",\"customer\":\"").append(dice.word(3_000))
                    .append(" \\u00e9\\n\",\"total\":").append(dice.below(100)).append(".25,\"paid\":").append(i % 3 == 0)
                    .append(",\"labels\":{\"").append(dice.word(50)).append("\":\"x\"},\"lines\":[");
            for (int l = dice.below(6); l >= 0; l--) {
                text.append("{\"product\":\"").append(dice.word(900)).append("\",\"count\":").append(dice.below(20))
                        .append(",\"price\":").append(dice.below(90_000)).append(l == 0 ? "}" : "},");
            }
            text.append("]}");
        }
        return text.append("]").toString();
    }
}
