//! Waiting for locks, against a program whose threads wait a known number of times for a time that they measure.

mod all;
mod hanging;
mod pinned;
mod robust;

use quipu_e2e::{Program, Run};
use quipu_profile::Profile;

const THREADS: u64 = 8;
const ROUNDS: u64 = 20;

fn contended(lock: &str) -> Program {
    Program::new("Contended").arguments([lock.to_owned(), THREADS.to_string(), ROUNDS.to_string()])
}

fn loads(method: &str) -> bool {
    method.starts_with("jdk.internal.loader.") || method == "java.lang.ClassLoader.loadClass"
}

/// The leaves of a lock, by its class or as `class@identity`, below contexts that go through a method. Threads that need the same
/// class at the same time wait for its loader, which locks objects of classes that programs lock, too.
fn leaves_of(profile: &Profile, lock: &str, through: &str) -> Vec<u32> {
    let tree = profile.tree();
    let name = |node: u32| tree.method(node).map(|method| profile.method_name(method)).unwrap_or_default();
    let (class, identity) = lock.split_once('@').unwrap_or((lock, ""));
    let is_lock = |&node: &u32| {
        name(node) == format!("{class} [lock]") && identity_of(profile, node).ends_with(identity)
    };
    let passes = |&node: &u32| {
        let path: Vec<String> = tree.path(node).into_iter().map(name).collect();
        let (_leaf, path) = path.split_last().expect("itself");
        path.iter().any(|of| of == through) && !path.last().is_some_and(|of| loads(of))
    };
    (0..tree.len() as u32).filter(is_lock).filter(passes).collect()
}

/// `@identity` of a lock's leaf.
fn identity_of(profile: &Profile, leaf: u32) -> &str {
    let method = profile.tree().method(leaf).expect("a lock");
    profile.str(profile.method(method).descriptor)
}

/// The values of a metric in those leaves.
fn of_lock(profile: &Profile, metric: &str, lock: &str, through: &str) -> u64 {
    let values = profile.metric(metric).unwrap_or_else(|| panic!("no {metric}")).values();
    leaves_of(profile, lock, through).into_iter().map(|node| values[node as usize]).sum()
}

fn assert_waited(run: &Run, lock: &str, method: &str, holder: &str) {
    assert!(run.status.success(), "{}", run.said());
    let profile = run.profile();
    assert!(profile.meta.lost.is_empty(), "lost {:?}", profile.meta.lost);
    let count = of_lock(profile, "lock.count", lock, method);
    let time = of_lock(profile, "lock.time", lock, method) as f64;
    let truth: f64 = run.stdout.trim().parse().expect("what was waited");
    assert_eq!(count, THREADS * ROUNDS, "{}", run.said());
    assert!((time / truth - 1.0).abs() <= 0.05, "{time} ns, and it was {truth}; {}", run.said());
    // Nearly all was held by main, where it says so; the rest by those who had waited before.
    let held = of_lock(profile, "lock.blocked", lock, holder) as f64;
    let total = of_lock(profile, "lock.blocked", lock, "Contended.main")
        + of_lock(profile, "lock.blocked", lock, "Contended.work");
    assert!(total > 0 && held > 0.8 * total as f64, "{held} of {total} ns were held in {holder}");
}

#[test]
fn every_wait_for_a_monitor_is_told() {
    contended("monitor").quipu(["--locks"]).on_every_jdk(|run| {
        assert_waited(run, "java.lang.Object", "Contended.enter", "Contended.holdMonitor");
        // Waits to be notified are kept apart.
        let profile = run.profile();
        let waits = of_lock(profile, "wait.count", "java.lang.Object", "Contended.sleepInWait");
        let time = of_lock(profile, "wait.time", "java.lang.Object", "Contended.sleepInWait");
        assert_eq!(waits, 5);
        // No longer than the program ran: it may have waited for a processor, too.
        let ran = profile.run.duration.expect("it has ended");
        assert!((100_000_000..ran).contains(&time), "{time} ns of 5 times 20 ms, in {ran} ns");
    });
}

#[test]
fn locks_of_java_util_concurrent_are_told() {
    contended("lock").quipu(["--locks"]).on_every_jdk(|run| {
        let lock = "java.util.concurrent.locks.ReentrantLock$NonfairSync";
        assert_waited(run, lock, "Contended.lock", "Contended.holdLock");
    });
}

/// It is a lock, though none of those that know who has them.
#[test]
fn stamped_locks_are_locks() {
    contended("stamped").quipu(["--locks"]).on_every_jdk(|run| {
        assert!(run.status.success(), "{}", run.said());
        let lock = "java.util.concurrent.locks.StampedLock";
        let of = |metric| of_lock(run.profile(), metric, lock, "Contended.stamp");
        // A thread that is woken and does not get it parks once more: that it is for the same attempt is known of other locks only.
        let all = THREADS * ROUNDS;
        assert!((all..=all + all / 10).contains(&of("lock.count")), "{}", run.said());
        let truth: f64 = run.stdout.trim().parse().expect("what was waited");
        let time = of("lock.time") as f64;
        assert!((time / truth - 1.0).abs() <= 0.05, "{time} ns, and it was {truth}; {}", run.said());
        let waits = run.profile().metric("wait.count").map(|waits| waits.values());
        let leaves = leaves_of(run.profile(), lock, "Contended.stamp");
        assert_eq!(waits.map_or(0, |waits| leaves.iter().map(|&leaf| waits[leaf as usize]).sum()), 0);
    });
}

/// The JVM warns when native methods of the JDK are bound by others; and programs must not see who measures.
#[test]
fn the_program_says_what_it_always_says() {
    contended("lock").quipu(["--locks", "1ms"]).on_every_jdk(|run| {
        assert!(run.stdout.trim().parse::<u64>().is_ok(), "{}", run.said());
        assert!(!run.stderr.contains("warning"), "{}", run.said());
    });
}

#[test]
fn waits_are_in_nodes_that_have_calls() {
    contended("monitor").quipu(["--exact", "--locks"]).on_every_jdk(|run| {
        let profile = run.profile();
        assert_eq!(of_lock(profile, "lock.count", "java.lang.Object", "Contended.enter"), THREADS * ROUNDS);
        let (tree, calls) = (profile.tree(), profile.metric("calls").expect("calls").values());
        let is_enter = |&node: &u32| {
            tree.method(node).is_some_and(|method| profile.method_name(method) == "Contended.enter")
        };
        let enters: Vec<u32> = (0..tree.len() as u32).filter(is_enter).collect();
        assert_eq!(enters.len(), 1, "one context, whatever measured it");
        assert_eq!(calls[enters[0] as usize], THREADS * ROUNDS);
    });
}

/// The holder of the only wait for a lock is known, and the whole wait is charged to it.
#[test]
fn one_single_wait_has_a_holder() {
    for (lock, class, holder) in [
        ("monitor", "java.lang.Object", "Contended.holdMonitor"),
        ("lock", "java.util.concurrent.locks.ReentrantLock$NonfairSync", "Contended.holdLock"),
    ] {
        // Long enough for the thread that looks at it to come to that on a busy machine, too.
        let program = Program::new("Contended").arguments([lock, "1", "1", "500"]);
        program.quipu(["--locks"]).on_every_jdk(|run| {
            let profile = run.profile();
            let method = if lock == "monitor" { "Contended.enter" } else { "Contended.lock" };
            assert_eq!(of_lock(profile, "lock.count", class, method), 1, "{}", run.said());
            let waited = of_lock(profile, "lock.time", class, method);
            // Main may hold the barrier's lock there as well.
            let this = format!("{class}{}", identity_of(profile, leaves_of(profile, class, method)[0]));
            assert_eq!(of_lock(profile, "lock.blocked", &this, holder), waited, "{}", run.said());
        });
    }
}

/// Virtual threads: monitors pin them to their carriers before JDK 24, and do not from then on; parking does not.
#[test]
fn virtual_threads_wait_as_others_do() {
    for (lock, class, method) in [
        ("monitor", "java.lang.Object", "ContendedVirtual.enter"),
        ("lock", "java.util.concurrent.locks.ReentrantLock$NonfairSync", "ContendedVirtual.lock"),
    ] {
        let program = Program::new("ContendedVirtual").arguments([lock, "4", "10"]).since(21);
        // As many carriers as threads: those that are pinned would keep the others from waiting.
        let program = program.jvm(["-Djdk.virtualThreadScheduler.parallelism=6"]);
        program.quipu(["--locks"]).on_every_jdk(|run| {
            assert!(run.status.success(), "{}", run.said());
            let profile = run.profile();
            assert_eq!(of_lock(profile, "lock.count", class, method), 40, "{lock}: {}", run.said());
            let time = of_lock(profile, "lock.time", class, method) as f64;
            let truth: f64 = run.stdout.trim().parse().expect("what was waited");
            assert!(
                (time / truth - 1.0).abs() <= 0.05,
                "{lock}: {time} ns, and it was {truth}; {}",
                run.said()
            );
            let held = of_lock(profile, "lock.blocked", class, "ContendedVirtual.main");
            assert!(held > 0, "{lock}: {}", run.said());
        });
    }
}

/// From here on JVMTI does not say which virtual thread has a monitor.
const HIDES_VIRTUAL_OWNERS: u32 = 23;

/// A virtual thread that holds what others wait for is charged with it; where the JVM does not say who holds it, nobody is.
#[test]
fn a_virtual_thread_that_holds_a_lock_is_charged_with_the_waits() {
    for (lock, class, method) in [
        ("monitor", "java.lang.Object", "ContendedVirtual.enter"),
        ("lock", "java.util.concurrent.locks.ReentrantLock$NonfairSync", "ContendedVirtual.lock"),
    ] {
        let program = Program::new("ContendedVirtual").arguments([lock, "4", "10", "virtual"]).since(21);
        let program = program.jvm(["-Djdk.virtualThreadScheduler.parallelism=6"]);
        program.quipu(["--locks"]).on_every_jdk(|run| {
            assert!(run.status.success(), "{}", run.said());
            let profile = run.profile();
            assert_eq!(of_lock(profile, "lock.count", class, method), 40, "{lock}: {}", run.said());
            let time = of_lock(profile, "lock.time", class, method) as f64;
            let truth: f64 = run.stdout.trim().parse().expect("what was waited");
            assert!((time / truth - 1.0).abs() <= 0.05, "{lock}: {time} ns, and it was {truth}");
            let held = of_lock(profile, "lock.blocked", class, "ContendedVirtual.hold") as f64;
            let waiters = of_lock(profile, "lock.blocked", class, method) as f64;
            let is_told = lock == "lock" || run.jdk.feature < HIDES_VIRTUAL_OWNERS;
            let range = if is_told { 0.8 * time..=time } else { 0.0..=0.0 };
            assert!(range.contains(&held), "{lock}: {held} of {time} ns are charged to the holder");
            assert!(waiters <= time - held, "{lock}: {waiters} ns are charged to those who wait");
        });
    }
}

/// What the VM has threads wait for that want a class which another one makes ready is no lock of the program's.
#[test]
fn class_initialisation_is_called_so() {
    Program::new("Initialised").quipu(["--locks"]).on_every_jdk(|run| {
        let profile = run.profile();
        let lock = "(class initialisation)";
        assert_eq!(of_lock(profile, "lock.count", lock, "Initialised.want"), 1, "{}", run.said());
        let waited = of_lock(profile, "lock.time", lock, "Initialised.want");
        assert!(waited > 100_000_000, "{waited} ns of 300 ms; {}", run.said());
        assert_eq!(of_lock(profile, "lock.blocked", lock, "Initialised$Slowly.loadClass"), waited);
        // An array that the program locks itself is what it is.
        assert_eq!(of_lock(profile, "lock.count", "int[]", "Initialised.enter"), 1, "{}", run.said());
    });
}

/// Each wait is on the timeline, with the thread, the lock and where that was; so the states of threads over time are known.
#[test]
fn waits_are_on_the_timeline() {
    let program = Program::new("Contended").arguments(["monitor", "2", "3"]);
    program.quipu(["--locks", "--timeline", "--wall", "500"]).on_every_jdk(|run| {
        let profile = run.profile();
        let tree = profile.tree();
        let named = |name: &'static str, method: &'static str| {
            let events = profile.events().iter().filter(move |event| profile.str(event.name) == name);
            let passes = move |event: &&quipu_profile::Event| {
                let path = tree.path(event.node).into_iter().filter_map(|node| tree.method(node));
                let path: Vec<String> = path.map(|of| profile.method_name(of)).collect();
                path.iter().any(|of| of == method) && !path.iter().any(|of| loads(of))
            };
            events.filter(passes).collect::<Vec<_>>()
        };
        let waits = named("lock.wait", "Contended.enter");
        assert_eq!(waits.len(), 6, "{}", run.said());
        let lasted: u64 = waits.iter().map(|event| event.duration).sum();
        assert_eq!(lasted, of_lock(profile, "lock.time", "java.lang.Object", "Contended.enter"));
        let about = |event: &&quipu_profile::Event| profile.str(event.details[0].1).to_owned();
        let lock = about(&waits[0]);
        assert!(lock.starts_with("java.lang.Object@"), "which one: {lock}");
        assert!(waits.iter().all(|event| about(event) == lock), "all of the same");
        let is_waiter = |event: &&quipu_profile::Event| {
            let thread = profile.threads().get(event.thread as usize);
            thread.is_some_and(|thread| profile.str(thread.name) == "waiter-#")
        };
        assert!(waits.iter().all(is_waiter));
        // What samples have seen in between: each wait is 10 ms and more, and a sample stands for 2 or, on a busy machine, more.
        let blocked: u64 = named("thread.state", "Contended.enter")
            .iter()
            .filter(|event| profile.str(event.details[0].1) == "blocked")
            .map(|event| event.duration)
            .sum();
        assert!(blocked >= lasted / 4 && blocked <= 4 * lasted, "{blocked} ns of {lasted}; {}", run.said());
        assert_eq!(named("thread.wait", "Contended.sleepInWait").len(), 5);
    });
}
