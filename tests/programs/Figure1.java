/** The program for which a timer is no measure of calls: a long sequence without any, then two short calls. */
public class Figure1 {
    static int a = 3, b = 5, c = 7, d = 11;
    static long first, second;

    static void call1() {
        first++;
    }

    static void call2() {
        second++;
    }

    static void m(int rounds) {
        for (int i = 0; i < rounds; i++) {
            for (int j = 0; j < 20; j++) {
                a = b + c;
                b = c ^ d;
                c = d + a;
                d = a ^ b;
            }
            call1();
            call2();
        }
    }

    public static void main(String[] args) {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
        int rounds = 0;
        do {
            m(10_000);
            rounds += 10_000;
        } while (System.nanoTime() < end);
        System.out.println(first == rounds && second == rounds ? "as often" : first + ", " + second);
    }
}
