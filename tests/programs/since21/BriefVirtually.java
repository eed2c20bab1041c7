/** The same in virtual threads. */
public class BriefVirtually {
    public static void main(String[] arguments) throws InterruptedException {
        Brief.run(Integer.parseInt(arguments[0]),
                (work, number) -> Thread.ofVirtual().name("brief-" + number).unstarted(work));
    }
}
