//! Every lock that is acquired, against a program that acquires known numbers of them in every way there is.

use std::collections::BTreeMap;

use quipu_e2e::{Command, Program, Run, Working, on_every_jdk, scratch, tools};
use quipu_profile::Profile;

const THREADS: u64 = 8;
const ROUNDS: u64 = 2_000;

/// What each thread acquires in a round, by the method that does so and the class of the lock.
const ACQUIRED: [(&str, &str, u64); 10] = [
    ("Acquires.work", "Acquires$Monitor", 2),
    ("Acquires$Guarded.add", "Acquires$Guarded", 1),
    ("Acquires$Guarded.fail", "Acquires$Guarded", 1),
    ("Acquires.count", "java.lang.Class", 1),
    ("Acquires.work", "java.util.concurrent.locks.ReentrantLock", 3),
    ("Acquires.work", "java.util.concurrent.locks.ReentrantReadWriteLock$ReadLock", 1),
    ("Acquires.work", "java.util.concurrent.locks.ReentrantReadWriteLock$WriteLock", 1),
    ("Acquires.work", "Acquires$Segment", 1),
    ("Acquires.work", "Acquires$Overridden", 1),
    ("Acquires.work", "java.util.concurrent.locks.StampedLock", 2),
];

/// Locks that are held once and let go of meanwhile, for so many milliseconds; in the order in which the program tells how long it
/// held them.
const HELD: [(&str, &str, u64); 9] = [
    ("Acquires.hold", "Acquires$Waited", 600),
    ("Acquires.await", "java.util.concurrent.locks.ReentrantLock", 600),
    ("Acquires.interrupted", "Acquires$Interrupted", 400),
    ("Acquires.interruptedCondition", "java.util.concurrent.locks.ReentrantLock", 400),
    ("Acquires.left", "Acquires$Left", 400),
    ("Acquires.twice", "Acquires$Twice", 600),
    ("Acquires.again", "Acquires$Twice", 600),
    ("Acquires.take", "java.util.concurrent.locks.ReentrantLock", 400),
    ("Acquires.guarded", "Acquires$Door", 400),
];

/// Acquisitions and nanoseconds, by method and class of the lock.
fn acquired(profile: &Profile) -> BTreeMap<(String, String), [u64; 2]> {
    let values = |metric| profile.metric(metric).unwrap_or_else(|| panic!("no {metric}")).values();
    let (counts, holds) = (values("lock.entered"), values("lock.hold"));
    let tree = profile.tree();
    let name = |node| tree.method(node).map(|method| profile.method_name(method)).unwrap_or_default();
    let mut acquired: BTreeMap<(String, String), [u64; 2]> = BTreeMap::new();
    for node in 1..tree.len() as u32 {
        let here = name(node);
        let Some((class, _)) = here.split_once(" [lock]") else { continue };
        let sums = acquired.entry((name(tree.parents()[node as usize]), class.to_owned())).or_default();
        let [count, hold] = sums;
        (*count, *hold) = (*count + counts[node as usize], *hold + holds[node as usize]);
    }
    acquired
}

fn assert_acquired(run: &Run) {
    assert!(run.status.success(), "{}", run.said());
    let profile = run.profile();
    assert!(profile.meta.lost.is_empty(), "lost {:?}", profile.meta.lost);
    let found = acquired(profile);
    let of = |method: &str, class: &str| {
        found.get(&(method.to_owned(), class.to_owned())).copied().unwrap_or_default()
    };
    for (method, class, per_round) in ACQUIRED {
        let [count, hold] = of(method, class);
        assert_eq!(count, per_round * ROUNDS * THREADS, "{class} in {method}");
        assert!(hold > 0, "{class} in {method} was held for no time");
    }
    let others =
        [of("Acquires$Overridden.lock", "Acquires$Overridden"), of("Acquires.work", "Acquires$Door")];
    assert_eq!(others, [[0; 2]; 2], "it is told where it is called, and a door is none");
    // What it waits for to be notified, it does not hold the lock: neither before, nor after what has thrown.
    let mut truths = run.stdout.lines().map_while(|line| line.parse::<u64>().ok());
    for (method, class, waited) in HELD {
        let [count, hold] = of(method, class);
        assert_eq!(count, 1, "{class} in {method}");
        let truth = truths.next().unwrap_or_else(|| panic!("{}", run.said()));
        // What is done besides sleeping may wait for a processor, but not as long as what must not be in it.
        let range = truth..truth + waited * 3 / 4 * 1_000_000;
        assert!(range.contains(&hold), "{class} in {method} was held for {hold} ns, and it was {truth}");
    }
}

fn acquires() -> Program {
    Program::new("Acquires").arguments([THREADS.to_string(), ROUNDS.to_string()])
}

#[test]
fn every_lock_is_counted_whatever_compiles_it() {
    for mode in ["-Xmixed", "-Xint", "-XX:TieredStopAtLevel=1"] {
        acquires().jvm([mode]).quipu(["--locks", "all"]).on_every_jdk(assert_acquired);
    }
}

/// What was held when a profile ended is not held in the next one, which was not there when it was acquired again.
#[test]
fn what_was_held_in_an_earlier_profile_is_not_in_the_next() {
    on_every_jdk(|jdk| {
        let mut program = Working::start_program(jdk, "LocksByTurns");
        let steer = |pid: &str, words: &[&str]| {
            let output = Command::new(&tools().quipu).args(["ctl", pid]).args(words).output();
            let output = output.expect("it runs");
            assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        };
        let pid = program.id();
        let file = scratch("turns").join("out.quipu");
        steer(&pid, &["start", "locks=all"]);
        // It acquires the lock, and is seen to; it lets go of it and acquires it again when nobody looks.
        program.turn();
        steer(&pid, &["stop"]);
        program.turn();
        program.turn();
        steer(&pid, &["start", "locks=all"]);
        program.turn();
        steer(&pid, &["stop"]);
        steer(&pid, &["dump", "-o", file.to_str().expect("a name")]);
        let found = acquired(&Profile::load(&file).expect("a profile"));
        let lock = "java.util.concurrent.locks.ReentrantLock".to_owned();
        let of = found.get(&("LocksByTurns.acquire".to_owned(), lock)).copied().unwrap_or_default();
        assert_eq!(of, [0, 0], "nobody has seen since when it is held");
        program.finish();
    });
}

/// Other kinds in the same code do not change what is counted.
#[test]
fn every_lock_is_counted_beside_everything_that_is_made_and_called() {
    acquires().quipu(["--exact", "--locks", "all", "--alloc", "all"]).on_every_jdk(|run| {
        assert_acquired(run);
        let profile = run.profile();
        for metric in ["calls", "bytecodes", "alloc.count", "lock.entered"] {
            assert!(profile.metric(metric).is_some_and(|metric| metric.total() > 0), "{metric}");
        }
        // What is let go of elsewhere was held where it was acquired, which is a context that was entered.
        let (tree, calls) = (profile.tree(), profile.metric("calls").expect("calls").values());
        for node in 1..tree.len() as u32 {
            let takes = |method| profile.method_name(method) == "Acquires.take";
            if tree.method(node).is_some_and(takes) {
                assert_eq!(calls[node as usize], 1);
            }
        }
    });
}

/// What is acquired is told by class, what is waited for by lock and by a class inside: `report --by lock` has them together.
#[test]
fn acquisitions_and_waits_of_a_class_are_one_row_with_its_locks_below() {
    let (threads, rounds) = (8, 20);
    for (lock, group, class) in [
        ("monitor", "java.lang.Object", "java.lang.Object"),
        (
            "lock",
            "java.util.concurrent.locks.ReentrantLock",
            "java.util.concurrent.locks.ReentrantLock$NonfairSync",
        ),
    ] {
        let program = Program::new("Contended").arguments([lock, "8", "20"]);
        program.quipu(["--locks", "all"]).on_every_jdk(|run| {
            let options =
                quipu_report::Options { by: quipu_report::By::Lock, ..quipu_report::Options::default() };
            let report = quipu_report::json(run.profile(), &options).expect("a report");
            let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
            let rows = report["rows"].as_array().expect("rows");
            let rows: Vec<_> = rows.iter().filter(|row| row["group"] == group).collect();
            let number = |row: &serde_json::Value, metric: &str| row[metric].as_u64().expect("a number");
            let (whole, below) = rows.split_first().expect("the class");
            assert_eq!((&whole["class"], &whole["identity"]), (&group.into(), &"".into()));
            let known = below.iter().filter(|row| row["identity"] != "").count();
            assert_eq!(whole["locks"], known, "{rows:?}");
            // Main acquires it, too, each time that the others wait.
            assert!(number(whole, "lock.entered") >= threads * rounds + rounds, "{whole}");
            assert!(whole["user"].is_string(), "{whole}");
            for metric in ["lock.count", "lock.time"] {
                let sum: u64 = below.iter().map(|row| number(row, metric)).sum();
                assert_eq!(number(whole, metric), sum, "{metric}");
            }
            assert!(below.iter().all(|row| row["locks"].is_null() && row["lock.entered"] == 0), "{below:?}");
            let most = below.first().expect("the lock that all wait for");
            assert_eq!(most["class"], class);
            // The barrier of the threads is a lock as well.
            assert!(number(most, "lock.count") >= threads * rounds, "{most}; {}", run.said());
        });
    }
}

/// Virtual threads, which hold locks while others have their carriers.
#[test]
fn locks_of_virtual_threads_are_counted_and_timed() {
    let (threads, rounds) = (100, 200);
    let program = Program::new("WorksVirtual").arguments([threads.to_string(), rounds.to_string()]).since(21);
    for options in [&["--locks", "all"][..], &["--exact", "--locks", "all"]] {
        program.clone().quipu_all(options).on_every_jdk(|run| {
            assert!(run.status.success(), "{}", run.said());
            let profile = run.profile();
            assert!(profile.meta.lost.is_empty(), "lost {:?}", profile.meta.lost);
            let found = acquired(profile);
            let lock = "java.util.concurrent.locks.ReentrantLock";
            for (method, class) in [("enter", "WorksVirtual$Monitor"), ("lock", lock), ("shared", lock)] {
                let [count, hold] = found[&(format!("WorksVirtual.{method}"), class.to_owned())];
                assert_eq!(count, threads * rounds, "{class} in {method}");
                // 5 ms of sleep in each 50th round.
                let least = if method == "lock" { threads * rounds / 50 * 5_000_000 } else { 1 };
                assert!(hold >= least, "{class} in {method} was held for {hold} ns of at least {least}");
            }
        });
    }
}

/// Inoue and Nakatani's lists (appendix (c)): who acquires, how much of what is executed that is, and which classes.
#[test]
fn the_views_of_the_paper_are_reports() {
    acquires().quipu(["--exact", "--locks", "all"]).on_every_jdk(|run| {
        let rows = |by, metric: &str| {
            let options = quipu_report::Options {
                by,
                metric: Some(metric.to_owned()),
                ..quipu_report::Options::default()
            };
            let report = quipu_report::json(run.profile(), &options).expect("a report");
            let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
            report["rows"].as_array().expect("rows").clone()
        };
        let methods = rows(quipu_report::By::Method, "lock.entered/bytecodes");
        let of = |class: &str, method: &str| {
            let row = methods.iter().find(|row| row["class"] == class && row["method"] == method);
            row.unwrap_or_else(|| panic!("{class}.{method}"))
        };
        for (class, method, per_round) in
            [("Acquires", "work", 11), ("Acquires$Guarded", "add", 1), ("Acquires", "count", 1)]
        {
            let row = of(class, method);
            let entered = row["lock.entered"]["self"].as_u64();
            assert_eq!(entered, Some(per_round * ROUNDS * THREADS), "{row}");
            let bytecodes = row["bytecodes"]["self"].as_u64().expect("bytecodes");
            let ratio = row["lock.entered/bytecodes"].as_f64().expect("a ratio");
            let truth = entered.unwrap_or_default() as f64 / bytecodes as f64;
            assert!((ratio - truth).abs() < 1e-3, "{row}");
        }
        let below = rows(quipu_report::By::Tree, "lock.entered");
        let work = below.iter().find(|row| row["method"] == "work").expect("who acquires");
        let of_work = |row: &&serde_json::Value| row["parent"] == work["id"] && row["method"] == "[lock]";
        let classes: Vec<_> = below.iter().filter(of_work).map(|row| row["class"].clone()).collect();
        assert!(classes.contains(&"Acquires$Monitor".into()), "{classes:?}");
    });
    let contended = Program::new("Contended").arguments(["monitor", "8", "20"]);
    contended.quipu(["--locks=0ns"]).on_every_jdk(|run| {
        let options = quipu_report::Options {
            by: quipu_report::By::Method,
            metric: Some("lock.count".to_owned()),
            filter: Some("Contended.enter".to_owned()),
            ..quipu_report::Options::default()
        };
        let report = quipu_report::json(run.profile(), &options).expect("a report");
        let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
        let count = &report["rows"][0]["lock.count"];
        let count = count.as_u64().or_else(|| count["self"].as_u64());
        assert_eq!(count, Some(160), "{report}");
    });
}
