/** Handlers before which the test inserts a call of {@code fail}, which throws: those of everything still do what they do. */
public class Guarded {
    static final Object LOCK = new Object();
    static boolean cleared;

    public static class Failing {
        public static void fail() { throw new StackOverflowError(); }
    }

    static void unlocks() {
        synchronized (LOCK) { throw new IllegalStateException(); }
    }

    static void clears() {
        try { throw new IllegalStateException(); } finally { cleared = true; }
    }

    static void insideOfLock() {
        synchronized (LOCK) {
            try { LOCK.notify(); throw new IllegalStateException(); } catch (IllegalStateException e) { cleared = true; }
        }
    }

    static void twice() {
        synchronized (LOCK) {
            synchronized (LOCK) { throw new IllegalStateException(); }
        }
    }

    static void show(String name, Runnable run) {
        cleared = false;
        String end = "";
        try { run.run(); } catch (Throwable e) { end = e.getClass().getSimpleName(); }
        System.out.println(name + " " + end + (Thread.holdsLock(LOCK) ? " holds" : "") + (cleared ? " cleared" : ""));
    }

    public static void main(String[] args) {
        show("unlocks", Guarded::unlocks);
        show("clears", Guarded::clears);
        show("insideOfLock", Guarded::insideOfLock);
        show("twice", Guarded::twice);
    }
}
