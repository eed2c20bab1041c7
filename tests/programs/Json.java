import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A small JSON parser and printer, run on a document it makes. */
public class Json {
    private final String text;
    private int at;

    Json(String text) {
        this.text = text;
    }

    static final class Malformed extends RuntimeException {
        Malformed(String message) {
            super(message);
        }
    }

    Object value() {
        skip();
        if (at >= text.length()) {
            throw new Malformed("end of text");
        }
        char c = text.charAt(at);
        switch (c) {
            case '{':
                return object();
            case '[':
                return array();
            case '"':
                return string();
            case 't':
                return word("true", Boolean.TRUE);
            case 'f':
                return word("false", Boolean.FALSE);
            case 'n':
                return word("null", null);
            default:
                return number();
        }
    }

    private Map<String, Object> object() {
        Map<String, Object> members = new LinkedHashMap<>();
        at++;
        skip();
        while (text.charAt(at) != '}') {
            String name = string();
            skip();
            expect(':');
            members.put(name, value());
            skip();
            if (text.charAt(at) == ',') {
                at++;
                skip();
            }
        }
        at++;
        return members;
    }

    private List<Object> array() {
        List<Object> items = new ArrayList<>();
        at++;
        skip();
        while (text.charAt(at) != ']') {
            items.add(value());
            skip();
            if (text.charAt(at) == ',') {
                at++;
            }
        }
        at++;
        return items;
    }

    private String string() {
        expect('"');
        StringBuilder s = new StringBuilder();
        while (true) {
            char c = text.charAt(at++);
            if (c == '"') {
                return s.toString();
            }
            if (c == '\\') {
                c = text.charAt(at++);
                switch (c) {
                    case 'n':
                        s.append('\n');
                        break;
                    case 't':
                        s.append('\t');
                        break;
                    case 'u':
                        s.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
                        at += 4;
                        break;
                    default:
                        s.append(c);
                }
            } else {
                s.append(c);
            }
        }
    }

    private Object number() {
        int start = at;
        while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        String digits = text.substring(start, at);
        try {
            return Long.valueOf(digits);
        } catch (NumberFormatException notWhole) {
            return Double.valueOf(digits);
        }
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw new Malformed("at " + at);
        }
        at += word.length();
        return value;
    }

    private void expect(char c) {
        if (text.charAt(at) != c) {
            throw new Malformed("no " + c + " at " + at);
        }
        at++;
    }

    private void skip() {
        while (at < text.length() && text.charAt(at) <= ' ') {
            at++;
        }
    }

    static void print(Object value, StringBuilder out) {
        if (value instanceof Map) {
            out.append('{');
            String separator = "";
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                out.append(separator);
                print(entry.getKey(), out);
                out.append(':');
                print(entry.getValue(), out);
                separator = ",";
            }
            out.append('}');
        } else if (value instanceof List) {
            out.append('[');
            String separator = "";
            for (Object item : (List<?>) value) {
                out.append(separator);
                print(item, out);
                separator = ",";
            }
            out.append(']');
        } else if (value instanceof String) {
            String s = (String) value;
            out.append('"').append(s.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n")).append('"');
        } else {
            out.append(value);
        }
    }

    static String document(int people) {
        // The first call of a method that the JIT replaces also initialises its class, on some JDKs.
        char[] start = "{\"people\": [".toCharArray();
        StringBuilder s = new StringBuilder().append(start, 0, start.length);
        for (int i = 0; i < people; i++) {
            s.append(i == 0 ? "" : ", ").append("{\"id\": ").append(i).append(", \"name\": \"person \\u0041 ").append(i);
            s.append("\", \"score\": ").append(i / 7.0).append(", \"tags\": [\"a\\n\", \"b\\\\\", true, null], \"next\": ");
            s.append(i % 3 == 0 ? "null" : "{\"id\": -" + i + "}").append('}');
        }
        return s.append("]}").toString();
    }

    public static void main(String[] args) {
        int people = args.length > 0 ? Integer.parseInt(args[0]) : 60;
        String first = document(people);
        Object parsed = new Json(first).value();
        StringBuilder printed = new StringBuilder();
        print(parsed, printed);
        Object again = new Json(printed.toString()).value();
        int malformed = 0;
        for (String bad : new String[] {"", "[1,2", "{\"a\" 1}", "trou", "[nul]"}) {
            try {
                new Json(bad).value();
            } catch (Malformed | StringIndexOutOfBoundsException expected) {
                malformed++;
            }
        }
        System.out.println(parsed.equals(again) + " " + printed.length() + " " + malformed);
    }
}
