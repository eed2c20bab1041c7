package multi;

public class Which {
    public static void main(String[] args) {
        for (int i = 0; i < 7; i++) {
            Version.count();
        }
        System.out.println(Version.name());
    }
}
