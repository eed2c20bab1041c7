package quipu.runtime;

/** What the agent does for the runtime. No static initialiser, so that it can be bound before anything runs. */
final class Natives {
    private Natives() {}

    /** Address of the arena. */
    static native long base();

    /** Address of a table with two ints for each method id: the size of its nodes and their number of slots. */
    static native long sizes();

    /** Address of memory in the arena for a node without a tree, for calls whose context cannot be kept. */
    static native long sink();

    /** Whether threads have the field {@code quipuSlot}. */
    static native boolean direct();

    /** Where objects have a field, for {@code Unsafe}: a long, or a {@link Link}. */
    static native long offset(Class<?> type, String field);

    /** Deepest level of a tree; contexts below it are folded. */
    static native int maxDepth();

    /** Whether two call sites of one method are two contexts. */
    static native boolean sites();

    /** Address of a new chunk of the arena for nodes of a tree; 0 if there is no room for it. */
    static native long chunk(int tree, long bytes);

    /** The group of threads this one belongs to; {@link Cursor#UNCOUNTED}, or -1 if there is no room for it. */
    static native int group(Thread thread);

    /** The thread, which is in this group, goes on in a profile that begins. */
    static native void stay(Thread thread, int group);

    /** Whether threads have tallies, or may get them. */
    static native boolean tallies();

    /** A new tally for a root of a tree; 0 if there is no room for it. */
    static native long tally(int tree, int root);

    /** The tally that is never read; 0 if there is no room for it. */
    static native long unreadTally();

    /** Address of a chunk of a {@link ReifiedStack} that takes the frames that are never looked at. */
    static native long scratch();

    /** Address of a chunk with so many entries of a ledger, which is to stand in for another; 0 if there is no room for it. */
    static native long ledger(int tree, long entries, long replaces);

    /** The site for objects of this one's class at an instruction, in the lower half; see {@code Kinds.Kind} for the upper. */
    static native long kind(int site, Object object);

    /** Size of an object. */
    static native long sizeOf(Object object);

    /** Where a class has the address of what the VM knows of it, and where that has the size of instances; negative if unknown. */
    static native int klassOffset();

    static native int layoutOffset();

    /**
     * A method that is timed runs below a root, in a context that is new. Returns when what it calls is instrumented, should
     * that be to be done.
     */
    static native void reached(int method);

    /** The same for a method, or a constructor, that is about to be called by reflection. */
    static native void reflected(Object method);

    /** Notes that a tree belongs to a group. */
    static native void tree(int tree, int group);
}
