/** More bytecodes in one call than an int can count. */
public class LongLoop {
    static long loop(int outer, int inner) {
        long sum = 0;
        for (int i = 0; i < outer; i++) {
            for (int j = 0; j < inner; j++) {
                sum += (i ^ j) & 7;
            }
        }
        return sum;
    }

    public static void main(String[] args) {
        System.out.println(loop(Integer.parseInt(args[0]), Integer.parseInt(args[1])));
    }
}
