//! What a profile lost, in words. Causes are names in the file; this is the one place that says what they mean.

/// Cause, what was lost when it was one, and when it was more.
const WORDS: [(&str, &str, &str); 34] = [
    ("events.no-room", "event for which there was no room", "events for which there was no room"),
    (
        "details.no-room",
        "sample that does not say what it was about: there are too many such things",
        "samples that do not say what they were about: there are too many such things",
    ),
    (
        "objects.no-room",
        "object that could not be watched because the arena had no room",
        "objects that could not be watched because the arena had no room",
    ),
    (
        "walks.no-class-load",
        "stack from before the JVM could name methods",
        "stacks from before the JVM could name methods",
    ),
    ("walks.gc", "stack during a garbage collection", "stacks during garbage collections"),
    (
        "walks.unknown-not-java",
        "stack of VM code that could not be read",
        "stacks of VM code that could not be read",
    ),
    (
        "walks.not-walkable-not-java",
        "stack of native code without a way to its caller",
        "stacks of native code without a way to their callers",
    ),
    (
        "walks.unknown-java",
        "stack of Java code that could not be read",
        "stacks of Java code that could not be read",
    ),
    (
        "walks.not-walkable-java",
        "stack of Java code without a way to its caller",
        "stacks of Java code without a way to their callers",
    ),
    (
        "walks.unknown-state",
        "stack of a thread in a state that is not known",
        "stacks of threads in a state that is not known",
    ),
    ("walks.thread-exit", "stack of a thread that was ending", "stacks of threads that were ending"),
    ("walks.deopt", "stack of a method being deoptimised", "stacks of methods being deoptimised"),
    ("walks.safepoint", "stack on the way into a safepoint", "stacks on the way into a safepoint"),
    (
        "walks.fault",
        "stack that led to memory that is not there",
        "stacks that led to memory that is not there",
    ),
    ("walks.truncated", "stack deeper than is kept", "stacks deeper than is kept"),
    (
        "walks.unknown-code",
        "stack through code that is in no file and not the JVM's",
        "stacks through code that is in no file and not the JVM's",
    ),
    (
        "walks.broken-frame",
        "stack with a frame that makes no sense",
        "stacks with a frame that makes no sense",
    ),
    (
        "walks.interpreter",
        "stack at the entry or exit of an interpreted method",
        "stacks at the entry or exit of interpreted methods",
    ),
    ("walks.stub", "stack in one of the JVM's stubs", "stacks in stubs of the JVM"),
    (
        "walks.machine-code",
        "stack at the entry or exit of a compiled method",
        "stacks at the entry or exit of compiled methods",
    ),
    (
        "walks.continuation",
        "stack of a virtual thread being mounted",
        "stacks of virtual threads being mounted",
    ),
    ("samples.no-room", "sample for which the arena had no room", "samples for which the arena had no room"),
    (
        "samples.too-many-at-once",
        "sample while too many threads were sampled at once",
        "samples while too many threads were sampled at once",
    ),
    ("threads.unwatched", "thread that could not be sampled", "threads that could not be sampled"),
    (
        "threads.without-kernel-frames",
        "thread whose calls into the kernel could not be seen",
        "threads whose calls into the kernel could not be seen",
    ),
    (
        "threads.without-events",
        "event of a thread that could not be counted, most likely for lack of descriptors (ulimit -n)",
        "events of threads that could not be counted, most likely for lack of descriptors (ulimit -n)",
    ),
    (
        "contexts.refused",
        "calling context for which the arena had no room",
        "calling contexts for which the arena had no room",
    ),
    ("arena.damaged.chunks", "damaged chunk of the arena", "damaged chunks of the arena"),
    ("arena.damaged.records", "damaged record of the arena", "damaged records of the arena"),
    ("arena.damaged.nodes", "damaged context of the arena", "damaged contexts of the arena"),
    ("arena.damaged.samples", "damaged sample of the arena", "damaged samples of the arena"),
    (
        "calls.uncounted",
        "sampled call of a method that is not counted",
        "sampled calls of methods that are not counted",
    ),
    ("classes.left", "class that could not be instrumented", "classes that could not be instrumented"),
    ("methods.left", "method that could not be instrumented", "methods that could not be instrumented"),
];

/// Whether what was lost for a cause is missing in counts that are otherwise exact: `contexts.refused`, a damaged arena. Code
/// that is never counted (`classes.left`) is missing each time.
pub fn loses_counts(cause: &str) -> bool {
    matches!(
        cause,
        "contexts.refused" | "arena.damaged.chunks" | "arena.damaged.records" | "arena.damaged.nodes"
    )
}

/// What was lost for a cause: `12 stacks of virtual threads being mounted`. A cause of a newer version is told by its name.
///
/// ```
/// use quipu_profile::lost_in_words;
/// assert_eq!(lost_in_words("walks.continuation", 12), "12 stacks of virtual threads being mounted");
/// assert_eq!(lost_in_words("walks.thread-exit", 1), "1 stack of a thread that was ending");
/// assert_eq!(lost_in_words("walks.new", 2), "2 walks.new");
/// ```
pub fn lost_in_words(cause: &str, count: u64) -> String {
    let words = WORDS.iter().find(|(known, ..)| *known == cause);
    let what = words.map_or(cause, |&(_, one, many)| if count == 1 { one } else { many });
    format!("{count} {what}")
}
