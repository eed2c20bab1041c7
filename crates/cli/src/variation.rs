//! What can make two runs differ and was not pinned, as far as the profile shows it.

use std::collections::BTreeSet;

use quipu_profile::{Profile, ThreadKind};

/// Threads of the JVM's own.
const SYSTEM_THREADS: &[&str] = &[
    "?",
    "Attach Listener",
    "Common-Cleaner",
    "DestroyJavaVM",
    "Finalizer",
    "Notification Thread",
    "Reference Handler",
    "Signal Dispatcher",
    "Service Thread",
    "Monitor Deflation Thread",
];

/// Methods whose result is different each time, and what they are.
const SOURCES: &[(&str, &str, &str)] = &[
    ("java.lang.System", "currentTimeMillis", "the clock"),
    ("java.lang.System", "nanoTime", "the clock"),
    ("jdk.internal.misc.VM", "getNanoTimeAdjustment", "the clock"),
    ("java.lang.ProcessHandleImpl", "current", "the process id"),
    ("sun.security.provider.NativePRNG", "engineNextBytes", RANDOM),
    ("java.lang.Class", "getDeclaredMethods0", REFLECTION),
    ("java.lang.Class", "getDeclaredConstructors0", REFLECTION),
    ("java.lang.Class", "getMethods", REFLECTION),
    ("java.lang.Runtime", "availableProcessors", "how many processors the machine has"),
    ("java.io.UnixFileSystem", "list", "the order in which the file system lists files"),
    ("sun.nio.fs.UnixNativeDispatcher", "readdir", "the order in which the file system lists files"),
];

const RANDOM: &str = "the system's random numbers";

/// They are listed by their addresses in the VM.
const REFLECTION: &str = "the order in which reflection lists methods";

/// Whether a thread of this name is the application's: not one of the JVM's own, and not what class loading did.
pub fn is_application(name: &str) -> bool {
    !SYSTEM_THREADS.contains(&name) && !name.ends_with(quipu_collector::import::LOADING_SUFFIX)
}

/// What the agent told of that it could not pin.
fn told(profile: &Profile) -> impl Iterator<Item = String> + '_ {
    profile.meta.extra.iter().filter(|(key, _)| key == "not pinned").map(|(_, what)| what.clone())
}

/// Sentences about what was seen and cannot be pinned.
pub fn unpinned(profile: &Profile) -> Vec<String> {
    let mut notes: Vec<String> = told(profile).collect();
    let threads: Vec<_> =
        profile.threads().iter().filter(|thread| is_application(profile.str(thread.name))).collect();
    let count: u64 = threads.iter().map(|thread| thread.threads).sum();
    if count > 1 {
        // Those of pools are made when they are needed and end when they were not for a while.
        let virtual_threads = threads.iter().any(|thread| thread.kind == ThreadKind::Virtual);
        notes.push(format!(
            "{count} application threads{}: what they do to each other, and how many of a pool come and go, depends on \
             their timing",
            if virtual_threads { " (virtual ones among them)" } else { "" }
        ));
    }
    for (class, name, what) in SOURCES {
        let used = threads.iter().any(|thread| {
            let nodes = profile.tree().subtree(thread.root);
            nodes.skip(1).filter_map(|node| profile.tree().method(node)).any(|method| {
                let method = profile.method(method);
                profile.str(method.class) == *class && profile.str(method.name) == *name
            })
        });
        if used && !notes.iter().any(|note: &String| note.ends_with(what)) {
            notes.push(format!("{class}.{name} is called: counts may depend on {what}"));
        }
    }
    notes
}

/// The same for tests, of which each has a tree: in how many something was used that is not the same each time. Other threads
/// are told test by test.
pub fn unpinned_in_tests(profile: &Profile) -> Vec<String> {
    let mut used: Vec<(&str, BTreeSet<&str>)> = Vec::new();
    for thread in profile.threads() {
        for node in profile.tree().subtree(thread.root).skip(1) {
            let Some(method) = profile.tree().method(node).map(|method| profile.method(method)) else {
                continue;
            };
            let key = (profile.str(method.class), profile.str(method.name));
            let Some((.., what)) = SOURCES.iter().find(|(class, name, _)| (*class, *name) == key) else {
                continue;
            };
            // Of tests, the agent sees to these.
            if *what == REFLECTION && profile.meta.pins.contains_key("reflection") || *what == RANDOM {
                continue;
            }
            let at = used.iter().position(|(known, _)| known == what).unwrap_or_else(|| {
                used.push((what, BTreeSet::new()));
                used.len() - 1
            });
            if let Some((_, tests)) = used.get_mut(at) {
                tests.insert(profile.str(thread.name));
            }
        }
    }
    let sentence = |(what, tests): (&str, BTreeSet<&str>)| match (tests.first(), tests.len()) {
        (Some(test), 1) => format!("{what}, which {test} uses"),
        (first, n) => format!("{what}, which {n} tests use, like {}", first.unwrap_or(&"?")),
    };
    let mut notes: Vec<String> = told(profile).collect();
    notes.dedup();
    notes.extend(used.into_iter().map(sentence));
    notes.push("threads that race or come and go in pools, and when references are cleared".to_owned());
    notes
}

#[cfg(test)]
mod tests {
    use quipu_profile::{Builder, MethodSpec, ThreadSpec};

    use super::*;

    #[test]
    fn what_was_called_and_cannot_be_pinned_is_named_once() {
        let mut builder = Builder::with_capacity(4);
        let thread = builder.thread(ThreadSpec { name: "main", ..ThreadSpec::default() });
        let root = builder.root(thread);
        for name in ["getDeclaredMethods0", "getDeclaredConstructors0", "toString"] {
            let method =
                builder.method(MethodSpec { class: "java.lang.Class", name, ..MethodSpec::default() });
            builder.push(root, method, -1);
        }
        let notes = unpinned(&builder.finish());
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains("the order in which reflection lists methods"), "{notes:?}");
    }

    #[test]
    fn of_tests_it_is_told_in_how_many() {
        let mut builder = Builder::with_capacity(4);
        for test in ["a.BTest.one()", "a.BTest.two()"] {
            let thread = builder.thread(ThreadSpec { name: test, ..ThreadSpec::default() });
            let root = builder.root(thread);
            let spec = MethodSpec { class: "java.lang.System", name: "nanoTime", ..MethodSpec::default() };
            let method = builder.method(spec);
            builder.push(root, method, -1);
        }
        let notes = unpinned_in_tests(&builder.finish());
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert_eq!(notes[0], "the clock, which 2 tests use, like a.BTest.one()");
    }
}
