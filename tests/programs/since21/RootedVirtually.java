/** The same in virtual threads. */
public class RootedVirtually {
    public static void main(String[] arguments) throws Exception {
        Thread[] threads = new Thread[Rooted.THREADS];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = Thread.ofVirtual().name("rooted-" + i).unstarted(Rooted::work);
        }
        Rooted.run(threads);
    }
}
