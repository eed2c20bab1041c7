import java.lang.management.ManagementFactory;

/** Ends by SIGKILL, in the middle of its work. */
public class KillsItself {
    static int work(int n) {
        return Integer.reverse(n) + n;
    }

    public static void main(String[] args) throws Exception {
        int sum = 0;
        for (int i = 0; i < 5_000; i++) {
            sum += work(i);
        }
        System.out.println(sum);
        String me = ManagementFactory.getRuntimeMXBean().getName().split("@")[0];
        new ProcessBuilder("kill", "-KILL", me).start().waitFor();
        Thread.sleep(Long.MAX_VALUE);
    }
}
