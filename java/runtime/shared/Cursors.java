package quipu.runtime;

import jdk.internal.misc.Unsafe;

/**
 * Which cursor belongs to which thread, and which wait for the next thread of their group.
 *
 * <p>There is no lock. A chain is changed by putting another one in its place, in one step that happens or does not: a
 * thread that runs out of stack in the middle has changed nothing.
 *
 * <p>A method that runs below a root when its profile ends goes on with the code, and the cursor, that it has. It must not be a
 * caller in the profiles that follow: the cursor is retired, and the thread has another one for them. It is the thread's again
 * when nothing of that code is left. Another thread's it becomes when the thread has ended, and not before: of methods that it
 * was in outside of all roots nobody knows.
 */
final class Cursors {
    private static final Unsafe U = Unsafe.getUnsafe();

    private static final long HEAD = Natives.offset(Chain.class, "head");

    /** Cursors of threads that live, by thread id. */
    private static final Chain[] LIVE = chains(1 << 13);
    /** Cursors whose thread has ended, by group. */
    private static final Chain[] WAITING = chains(1 << 8);

    private Cursors() {}

    private static Chain[] chains(int count) {
        Chain[] chains = new Chain[count];
        for (int i = 0; i < count; i++) {
            chains[i] = new Chain();
        }
        return chains;
    }

    /** Makes sure that the class is initialised: instrumented code must never be the first to do so. */
    static void prepare() {
        take(LIVE[0], null, -1);
    }

    /** The cursor of a thread; null if it has none yet. */
    static Cursor of(Thread thread, long tid) {
        for (Link link = live(tid).head; link != null; link = link.next) {
            if (link.cursor.owner == thread && !link.cursor.retired) {
                return link.cursor;
            }
        }
        return null;
    }

    /** The cursor belongs to the thread with this id, its owner, from now on. */
    static void add(Cursor cursor, long tid) {
        push(live(tid), cursor);
    }

    /** The thread has one cursor less; returns it, or null if it had none. */
    static Cursor remove(Thread thread, long tid) {
        return take(live(tid), thread, 0);
    }

    /** The cursor waits for the next thread of its group. */
    static void wait(Cursor cursor) {
        push(waiting(cursor.group), cursor);
    }

    /** A cursor of this group that waits for a thread; null if none does. */
    static Cursor takeWaiting(int group) {
        return take(waiting(group), null, group);
    }

    /** Gives every thread that has a cursor its tally. */
    static void tallyAll() {
        for (Chain chain : LIVE) {
            for (Link link = chain.head; link != null; link = link.next) {
                if (link.cursor.lacksTally()) {
                    link.cursor.openTally();
                }
            }
        }
    }

    /** Every thread that has a cursor keeps it in the profile that begins. */
    static void goOn() {
        for (Chain chain : LIVE) {
            for (Link link = chain.head; link != null; link = link.next) {
                Thread owner = link.cursor.owner;
                if (owner != null && link.cursor.group >= 0 && !link.cursor.retired) {
                    Natives.stay(owner, link.cursor.group);
                }
            }
        }
    }

    /** Retires the cursors of threads that are below a root. */
    static void retire() {
        for (Chain chain : LIVE) {
            for (Link link = chain.head; link != null; link = link.next) {
                link.cursor.retired |= link.cursor.isBelowRoot();
            }
        }
    }

    /** Every thread with retired cursors only gets another one, or one of these back. */
    static void replaceRetired() {
        for (Chain chain : LIVE) {
            for (Link link = chain.head; link != null; link = link.next) {
                Cursor cursor = link.cursor;
                Thread owner = cursor.owner;
                if (owner == null || !cursor.retired || Probe.hasCursor(owner)) {
                    continue;
                }
                if (cursor.isBelowRoot()) {
                    Probe.replace(cursor, owner);
                } else {
                    cursor.retired = false;
                }
            }
        }
    }

    /** No thread has a cursor, and none waits. */
    static void clear() {
        for (Chain chain : LIVE) {
            chain.head = null;
        }
        for (Chain chain : WAITING) {
            chain.head = null;
        }
    }

    private static Chain live(long tid) {
        return LIVE[(int) tid & LIVE.length - 1];
    }

    private static Chain waiting(int group) {
        return WAITING[group & WAITING.length - 1];
    }

    private static void push(Chain chain, Cursor cursor) {
        Link head;
        do {
            head = chain.head;
        } while (!U.compareAndSetReference(chain, HEAD, head, new Link(cursor, head)));
    }

    /** Takes out the cursor of a thread, or, without one, any of a group. */
    private static Cursor take(Chain chain, Thread thread, int group) {
        for (;;) {
            Link head = chain.head;
            Link found = head;
            while (found != null
                    && !(thread != null ? found.cursor.owner == thread : found.cursor.group == group)) {
                found = found.next;
            }
            if (found == null) {
                return null;
            }
            Link rest = found.next;
            for (Link link = head; link != found; link = link.next) {
                rest = new Link(link.cursor, rest);
            }
            if (U.compareAndSetReference(chain, HEAD, head, rest)) {
                return found.cursor;
            }
        }
    }
}
