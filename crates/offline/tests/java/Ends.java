package ends;

/** Ends in the way its argument says; counts in a shutdown hook and in threads that come and go. */
public class Ends {
    static volatile int sink;

    static void work(int n) {
        sink = n;
    }

    static void hook() {
        for (int i = 0; i < 50; i++) {
            work(i);
        }
    }

    public static void main(String[] args) throws Exception {
        Runtime.getRuntime().addShutdownHook(new Thread(Ends::hook, "hook"));
        for (int i = 0; i < 100; i++) {
            work(i);
        }
        switch (args[0]) {
            case "halt":
                Runtime.getRuntime().halt(7);
                break;
            case "exit":
                System.exit(3);
                break;
            case "kill":
                String me = new java.io.File("/proc/self").getCanonicalFile().getName();
                new ProcessBuilder("kill", "-KILL", me).start().waitFor();
                Thread.sleep(60_000);
                break;
            case "threads":
                int count = Integer.parseInt(args[1]);
                for (int i = 0; i < count; i++) {
                    int n = i;
                    Thread thread = new Thread(() -> work(n), "short-" + i);
                    thread.start();
                    thread.join();
                }
                break;
            case "interrupted":
                Thread.currentThread().interrupt();
                work(1);
                System.out.println(Thread.interrupted());
                break;
            default:
        }
    }
}
