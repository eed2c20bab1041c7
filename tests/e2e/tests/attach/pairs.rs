//! Every kind after every other.

use std::collections::BTreeSet;

use quipu_e2e::on_every_jdk_at_once;
use quipu_profile::Profile;

use crate::steady::Steady;

/// Kinds, with what can be different between two attaches.
const KINDS: [&[&str]; 14] = [
    &["--exact"],
    &["--exact", "--contexts", "none"],
    &["--exact", "--sites", "--blocks", "--merge-threads", "never"],
    &["--exact", "--bba", "precise", "--max-depth", "2", "--threads", "beta-*"],
    &["--exact", "--include", "Steady", "--deterministic", "--merge-threads", "all"],
    &["--exact", "--cpu", "1000"],
    &["--bytecodes", "1000"],
    &["--root", "Steady.*"],
    &["--cpu", "250"],
    &["--cpu", "1000", "--sites"],
    &["--event", "task-clock:1M"],
    &["--wall", "200", "--threads", "alpha"],
    &["--alloc", "4K", "--live", "8K", "--locks", "1us", "--timeline"],
    &["--alloc", "all", "--locks", "all"],
];

/// What a profile has that does not depend on how long it was taken, nor on chance.
#[derive(Debug, PartialEq)]
struct Shape {
    options: Vec<(String, String)>,
    /// Kinds of metrics: `cpu` stands for `cpu.c1` as well.
    metrics: BTreeSet<String>,
    /// Facts of the profile, without their values, which are times.
    facts: BTreeSet<String>,
    /// What each thread's methods were called by. Of samples, that is chance.
    contexts: Option<BTreeSet<(String, Vec<String>)>>,
}

/// Threads and calling contexts of the program's own methods, whose names are without what tells the sets apart.
fn contexts(profile: &Profile, prefix: &str) -> BTreeSet<(String, Vec<String>)> {
    let tree = profile.tree();
    let mut found = BTreeSet::new();
    for node in 0..tree.len() as u32 {
        let frames = tree.path(node).into_iter().filter_map(|node| {
            let name = profile.method_name(tree.method(node)?);
            let name = name.strip_prefix("Steady.")?.strip_prefix(prefix)?;
            // Where call sites are told apart, two contexts have one name.
            let site = tree.site(node).map_or(String::new(), |bci| format!("@{bci}"));
            Some(format!("{name}{site}"))
        });
        let frames: Vec<String> = frames.collect();
        if !frames.is_empty() {
            let thread = profile.thread_of(node);
            let thread = &profile.threads()[thread as usize];
            found.insert((profile.str(thread.name).to_owned(), frames));
        }
    }
    // A method that was on the stack when counting began is not counted, so what it called then has no caller.
    let has_caller = |thread: &str, frames: &[String]| {
        let longer = found.iter().filter(|(other, of)| other == thread && of.len() > frames.len());
        longer.into_iter().any(|(_, of)| of.ends_with(frames))
    };
    let whole = found.iter().filter(|(thread, frames)| !has_caller(thread, frames));
    whole.cloned().collect()
}

fn shape(profile: &Profile, kind: &[&str], prefix: &str) -> Shape {
    let family = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let facts = profile.meta.extra.iter().chain(&profile.run.extra);
    Shape {
        options: profile.meta.options.clone(),
        metrics: profile.metrics().iter().map(|metric| family(metric.name())).collect(),
        facts: facts.map(|(key, _)| key.clone()).collect(),
        contexts: is_counted(kind).then(|| contexts(profile, prefix)),
    }
}

fn is_counted(kind: &[&str]) -> bool {
    kind.contains(&"--exact")
}

/// Of what runs three times in each round, three times as much was counted; but for the rounds that were cut in two.
fn assert_counted_once(profile: &Profile, prefix: &str, what: &str) {
    let calls = |name: &str| {
        let counts = profile.metric("calls").expect("calls").values();
        let tree = profile.tree();
        let of = |&node: &u32| {
            tree.method(node).is_some_and(|m| profile.method_name(m) == format!("Steady.{prefix}{name}"))
        };
        (0..tree.len() as u32).filter(of).map(|node| counts[node as usize]).sum::<u64>()
    };
    let (rounds, work, more) = (calls(""), calls("Work"), calls("More"));
    assert!(rounds > 0, "{what}: nothing was counted");
    assert!(work.abs_diff(3 * rounds) <= 18, "{what}: {work} calls in {rounds} rounds");
    assert!(more.abs_diff(rounds) <= 6, "{what}: {more} calls in {rounds} rounds");
}

/// Each sample stands for the time between two: that of its own profile.
fn assert_rate(profile: &Profile, kind: &[&str], what: &str) {
    let Some(at) = kind.iter().position(|&option| option == "--cpu") else { return };
    let rate = kind.get(at + 1).and_then(|rate| rate.parse().ok()).unwrap_or(100u64);
    let (period, samples) = (1_000_000_000 / rate, profile.samples().len() as u64);
    let cpu = profile.metric("cpu").expect("cpu").total();
    assert!(samples > 0, "{what}: no sample");
    assert_eq!(cpu % period, 0, "{what}: {cpu} ns in {samples} samples");
    let precise = profile.run.extra.iter().any(|(_, value)| value.starts_with("perf_event_open"));
    // The other clock says how many samples it could not take; one stands for them, too.
    let right = if precise { cpu == samples * period } else { cpu >= samples * period };
    assert!(right, "{what}: {cpu} ns in {samples} samples");
}

fn assert_threads(profile: &Profile, kind: &[&str], what: &str) {
    let names: BTreeSet<&str> = profile.threads().iter().map(|thread| profile.str(thread.name)).collect();
    let Some(at) = kind.iter().position(|&option| option == "--threads") else { return };
    let chosen = kind[at + 1].trim_end_matches('*');
    assert!(names.iter().all(|name| name.starts_with(chosen)), "{what}: {names:?}");
}

/// Nothing is there of methods that the program does not run, or that it does not have.
fn assert_no_leftovers(profile: &Profile, prefix: &str, other: &str, what: &str) {
    for method in profile.methods() {
        let (class, name) = (profile.str(method.class), profile.str(method.name));
        assert!(class != "Steady" || !name.starts_with(other), "{what}: {name} has not run");
    }
    const POSSIBLE: [&[&str]; 5] = [&[""], &["", "Work"], &["", "More"], &["", "More", "Work"], &["Work"]];
    for (thread, frames) in contexts(profile, prefix) {
        let names: Vec<&str> = frames.iter().map(|frame| frame.split('@').next().unwrap_or("")).collect();
        // Rounds that were cut in two are the ends of whole ones.
        assert!(POSSIBLE.iter().any(|path| path.ends_with(&names)), "{what}: {thread} {frames:?}");
    }
    let damaged = profile.meta.lost.keys().any(|lost| lost.starts_with("arena.damaged"));
    assert!(!damaged, "{what}: {:?}", profile.meta.lost);
}

/// A sequence in which every kind follows every kind, itself included.
fn sequence() -> Vec<usize> {
    let kinds = KINDS.len();
    let mut all = Vec::new();
    for first in 0..kinds {
        all.push(first);
        for second in first + 1..kinds {
            all.extend([first, second]);
        }
    }
    all.push(0);
    all
}

#[test]
fn every_pair_is_in_the_sequence_once() {
    let sequence = sequence();
    let pairs: BTreeSet<(usize, usize)> = sequence.windows(2).map(|pair| (pair[0], pair[1])).collect();
    assert_eq!((pairs.len(), sequence.len()), (KINDS.len() * KINDS.len(), KINDS.len() * KINDS.len() + 1));
}

/// Kinds for which the VM has to begin something, each by itself.
const FIRSTS: [&[&str]; 6] =
    [&["--timeline"], &["--locks"], &["--live"], &["--alloc"], &["--wall"], &["--cpu"]];

/// What the VM grants depends on what it was asked for before, in this order.
#[test]
fn a_jvm_can_be_counted_in_whatever_came_first() {
    on_every_jdk_at_once(|jdk| {
        let shapes = |first: Option<&[&str]>| {
            let steady = Steady::start(jdk);
            first.map(|kind| steady.attach(kind));
            let shape = shape(&steady.attach(KINDS[0]), KINDS[0], steady.methods().0);
            steady.finish();
            shape
        };
        let counted = shapes(None);
        for kind in FIRSTS {
            assert_eq!(shapes(Some(kind)), counted, "JDK {}: counted after {kind:?}", jdk.feature);
        }
    });
}

#[test]
fn every_kind_after_every_other_is_as_if_it_were_the_first() {
    // It takes minutes, most of which are waits: the JDKs need not wait for each other.
    on_every_jdk_at_once(|jdk| {
        let first: Vec<Shape> = KINDS
            .iter()
            .map(|kind| {
                let steady = Steady::start(jdk);
                let shape = shape(&steady.attach(kind), kind, steady.methods().0);
                steady.finish();
                shape
            })
            .collect();
        let mut steady = Steady::start(jdk);
        let mut before: Option<usize> = None;
        for now in sequence() {
            let kind = KINDS[now];
            let profile = steady.attach(kind);
            let (prefix, other) = steady.methods();
            let what = format!("JDK {}: {kind:?} after {:?}", jdk.feature, before.map(|at| KINDS[at]));
            assert_eq!(shape(&profile, kind, prefix), first[now], "{what}");
            assert_no_leftovers(&profile, prefix, other, &what);
            assert_rate(&profile, kind, &what);
            assert_threads(&profile, kind, &what);
            if is_counted(kind) {
                assert_counted_once(&profile, prefix, &what);
            }
            before = Some(now);
            steady.turn();
        }
        steady.finish();
    });
}
