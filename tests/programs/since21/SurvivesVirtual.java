/** The same as {@link Survives}, in virtual threads. */
public class SurvivesVirtual {
    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        int threads = Integer.parseInt(arguments[1]);
        for (int i = 0; i < rounds; i++) {
            Thread[] all = new Thread[threads];
            for (int thread = 0; thread < threads; thread++) {
                all[thread] = Thread.ofVirtual().start(Survives::keep);
            }
            for (Thread thread : all) {
                thread.join();
            }
            System.gc();
        }
    }
}
