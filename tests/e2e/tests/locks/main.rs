//! Waiting for locks, against a program whose threads wait a known number of times for a time that they measure.

use quipu_e2e::{Program, Run};
use quipu_profile::Profile;

const THREADS: u64 = 8;
const ROUNDS: u64 = 20;

fn contended(lock: &str) -> Program {
    Program::new("Contended").arguments([lock.to_owned(), THREADS.to_string(), ROUNDS.to_string()])
}

/// The values of a metric in leaves of a lock below some context that goes through a method.
fn of_lock(profile: &Profile, metric: &str, lock: &str, through: &str) -> u64 {
    let values = profile.metric(metric).unwrap_or_else(|| panic!("no {metric}")).values();
    let tree = profile.tree();
    let name = |node: u32| tree.method(node).map(|method| profile.method_name(method)).unwrap_or_default();
    let leaves = (0..tree.len() as u32).filter(|&node| name(node) == format!("{lock} [lock]"));
    let passes = |&node: &u32| tree.path(node).into_iter().any(|node| name(node) == through);
    leaves.filter(passes).map(|node| values[node as usize]).sum()
}

fn assert_waited(run: &Run, lock: &str, method: &str, holder: &str) {
    assert!(run.status.success(), "{}", run.said());
    let profile = run.profile();
    assert!(profile.meta.lost.is_empty(), "lost {:?}", profile.meta.lost);
    let count = of_lock(profile, "lock.count", lock, method);
    let time = of_lock(profile, "lock.time", lock, method) as f64;
    let truth: f64 = run.stdout.trim().parse().expect("what was waited");
    // A thread that parks may be woken for nothing, and park again.
    let most = if holder.ends_with("Monitor") { THREADS * ROUNDS } else { THREADS * ROUNDS * 5 / 4 };
    assert!((THREADS * ROUNDS..=most).contains(&count), "{count} waits; {}", run.said());
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
        assert!((100_000_000..200_000_000).contains(&time), "{time} ns of 5 times 20 ms");
    });
}

#[test]
fn locks_of_java_util_concurrent_are_told() {
    contended("lock").quipu(["--locks"]).on_every_jdk(|run| {
        let lock = "java.util.concurrent.locks.ReentrantLock$NonfairSync";
        assert_waited(run, lock, "Contended.lock", "Contended.holdLock");
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
