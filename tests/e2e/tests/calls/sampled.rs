//! Sampled edges: against programs whose calls are known, and against exact profiles of the same programs.

use std::collections::{BTreeMap, BTreeSet};

use quipu_e2e::{Jdk, Program, Run, on_every_jdk_since, percent};
use quipu_kinds::CALLS;
use quipu_profile::{Matching, Method, On, Profile, overlap};

use crate::{Edge, edges, inside};

const METRIC: &str = "samples.calls";
/// Programs run for a second or two, on a machine that has other things to do.
const OFTEN: [&str; 2] = ["--tick", "10ms"];

/// The edges of `class` that were sampled.
fn sampled(run: &Run, class: &str) -> BTreeMap<Edge, u64> {
    assert!(run.status.success(), "{}", run.said());
    inside(edges(run.profile(), METRIC), class)
}

/// How the two calls of the loop share the samples, in percent, and how many there are.
fn shares(run: &Run) -> ([f64; 2], u64) {
    assert_eq!(run.stdout.trim(), "as often", "{}", run.said());
    let of = |edges: &BTreeMap<Edge, u64>, callee: &str| -> u64 {
        let is_it = |edge: &Edge| edge.0.starts_with("Figure1.m(") && edge.2 == callee;
        edges.iter().filter(|(edge, _)| is_it(edge)).map(|(_, n)| n).sum()
    };
    let edges = sampled(run, "Figure1");
    let [first, second] = ["Figure1.call1()V", "Figure1.call2()V"].map(|callee| of(&edges, callee));
    ([percent(first, first + second), percent(second, first + second)], first + second)
}

/// The ways in which a method can run.
const TIERS: [&[&str]; 3] = [&[], &["-XX:TieredStopAtLevel=1"], &["-Xint"]];

fn figure_1(jdk: &Jdk, millis: &str, tier: &[&str], kind: &[&str]) -> Run {
    let program = Program::new("Figure1").arguments([millis]).quipu_all(kind).quipu([OFTEN[0], OFTEN[1]]);
    tier.iter().fold(program, |program, flag| program.jvm([flag])).run(jdk)
}

/// Figure 1 of the paper: both methods are called as often. Whoever counts the calls of a window finds that, in every tier; whoever
/// takes the call that comes next after a tick finds the one behind the long sequence.
#[test]
fn counting_calls_is_right_where_a_timer_is_not() {
    on_every_jdk_since(CALLS.since, |jdk| {
        for tier in TIERS {
            let ([first, second], samples) = shares(&figure_1(jdk, "1500", tier, &["--calls"]));
            println!("{tier:?}: windows: {first:.1} % and {second:.1} % of {samples}");
            assert!(samples >= 200, "{samples}");
            assert!((first - second).abs() <= 5.0, "{tier:?}: {first} % and {second} %");
            let ([first, second], samples) = shares(&figure_1(jdk, "1500", tier, &["--calls", "timer"]));
            println!("{tier:?}: timer: {first:.1} % and {second:.1} % of {samples}");
            assert!(samples >= 5, "{samples}");
            assert!(first >= 75.0, "{tier:?}: {first} % and {second} %");
        }
    });
}

/// All edges of the program that were sampled are in the exact graph, those of the call sites, too, and weigh about as much.
#[test]
fn sampled_edges_are_those_of_the_exact_graph() {
    let program = Program::new("Dispatches");
    on_every_jdk_since(CALLS.since, |jdk| {
        let exact = program.clone().arguments(["500", "1"]).quipu(["--calls", "exhaustive"]).run(jdk);
        let known = inside(edges(exact.assert_whole().profile(), "calls"), "Dispatches");
        for tier in TIERS {
            let program = tier.iter().fold(program.clone(), |program, flag| program.jvm([flag]));
            let run = program.arguments(["2000", "1"]).quipu(["--calls", OFTEN[0], OFTEN[1]]).run(jdk);
            assert_eq!(run.stdout.trim(), "the same in every round", "{}", run.said());
            let found = sampled(&run, "Dispatches");
            let unknown: Vec<_> = found.keys().filter(|edge| !known.contains_key(*edge)).collect();
            assert!(unknown.is_empty(), "{unknown:?} are not among {known:?}");
            let unknown = not_exact(run.profile(), exact.profile());
            assert!(unknown.is_empty(), "{unknown:?} are not in the exact graph");
            let samples: u64 = found.values().sum();
            let alike = overlap(run.profile(), exact.profile(), "calls", On::Edge, Matching::default());
            let alike = alike.expect("calls, and samples of them");
            println!("JDK {} {tier:?}: {alike:.1} % of {samples} samples", jdk.feature);
            assert!(samples >= 200, "{samples}");
            assert!(alike >= 85.0, "{alike} % of {samples} samples");
        }
    });
}

/// Where calls are counted as well, a sample is of the edge that was called: of a method that calls itself, and not of one whose
/// callee is not counted.
#[test]
fn samples_beside_counts_are_of_the_edges_that_were_called() {
    let program = Program::new("Entered").arguments(["2500"]);
    // Most calls of a window are of what counts.
    let program = program.quipu(["--exact", "--include", "Entered", "--calls", "--tick", "4ms"]);
    program.since(CALLS.since).on_every_jdk(|run| {
        assert_eq!(run.stdout.trim(), "twice each", "{}", run.said());
        let [counted, sampled] =
            ["calls", METRIC].map(|metric| inside(edges(run.profile(), metric), "Entered"));
        let [calls, samples] = [&counted, &sampled].map(|edges| edges.values().sum::<u64>());
        let what = format!("{sampled:?} of {counted:?}; {}", run.said());
        assert!(samples >= 60, "{what}");
        let shares = sampled.iter().map(|(edge, &n)| {
            let known =
                counted.get(edge).copied().filter(|&n| n > 0).unwrap_or_else(|| panic!("{edge:?} in {what}"));
            percent(n, samples).min(percent(known, calls))
        });
        let overlap: f64 = shares.sum();
        println!("{overlap:.1} % of {samples} samples");
        // Three edges that are as frequent: 67 % where recursion is taken for the call before it.
        assert!(overlap >= 80.0, "{overlap} %; {what}");
        let dropped = run.profile().meta.lost.get("calls.uncounted");
        assert!(dropped.is_some_and(|&n| n > 0), "{what}");
    });
}

/// Edges of the whole graph, the JDK's included, that were sampled several times and that the exact one does not have. Exact profiles have
/// none below methods that they do not look into; and what the JDK does once, it may do in one of two runs.
fn not_exact(sampled: &Profile, exact: &Profile) -> Vec<Edge> {
    const SEVERAL: u64 = 3;
    let name = |method: &Method| {
        [exact.str(method.class), ".", exact.str(method.name), exact.str(method.descriptor)].concat()
    };
    let looked_into = exact.methods().iter().filter(|method| !method.opaque() && !method.is_detail());
    let looked_into: BTreeSet<String> = looked_into.map(name).collect();
    let known = edges(exact, "calls");
    let found = edges(sampled, METRIC).into_iter().filter(|&(_, samples)| samples >= SEVERAL);
    let found = found.map(|(edge, _)| edge);
    found.filter(|edge| looked_into.contains(&edge.0) && !known.contains_key(edge)).collect()
}

/// Threads have a part of the samples as they have of the calls: one that always runs, and many that run for a moment and sleep.
#[test]
fn threads_weigh_as_much_as_they_run() {
    let program = Program::new("Unequal").arguments(["1500"]).quipu(["--calls", OFTEN[0], OFTEN[1]]);
    program.since(CALLS.since).on_every_jdk(|run| {
        let found = sampled(run, "Unequal");
        let of = |callee: &str| -> u64 {
            found.iter().filter(|(edge, _)| edge.2 == callee).map(|(_, samples)| samples).sum()
        };
        let samples = [of("Unequal.often(I)I"), of("Unequal.seldom(I)I")];
        let called: Vec<u64> =
            run.stdout.split_whitespace().map(|number| number.parse().expect("a number")).collect();
        let share = |of: &[u64]| percent(of[1], of[0] + of[1]);
        println!("{:.1} % of {samples:?}, {:.1} % of {called:?}", share(&samples), share(&called));
        assert!(samples.iter().all(|&n| n > 0), "{samples:?}");
        assert!((share(&samples) - share(&called)).abs() <= 20.0, "{samples:?}, and really {called:?}");
    });
}

/// A sample has as many callers as were asked for, and the edge is right.
#[test]
fn samples_have_as_many_callers_as_wanted() {
    let program = Program::new("Figure1").arguments(["500"]).quipu(["--calls", "--depth", "1"]).quipu(OFTEN);
    program.since(CALLS.since).on_every_jdk(|run| {
        let found = sampled(run, "Figure1");
        assert!(found.keys().any(|edge| edge.0.starts_with("Figure1.m(") && edge.1 >= 0), "{found:?}");
        // Above the callee, a caller and the thread's root.
        assert_eq!(run.profile().tree().depths().into_iter().max(), Some(2));
    });
}

/// A virtual call keeps the distribution of what it reaches: three squares and a strip.
#[test]
fn a_virtual_call_has_several_edges() {
    let program = Program::new("Dispatches").arguments(["2000", "1"]).quipu(["--calls", OFTEN[0], OFTEN[1]]);
    program.since(CALLS.since).on_every_jdk(|run| {
        let found = sampled(run, "Dispatches");
        let of = |callee: &str| -> u64 {
            let is_it = |edge: &Edge| edge.0.starts_with("Dispatches.area(") && edge.2.starts_with(callee);
            found.iter().filter(|(edge, _)| is_it(edge)).map(|(_, n)| n).sum()
        };
        let (squares, strips) = (of("Dispatches$Square.area"), of("Dispatches$Strip.area"));
        let share = percent(squares, squares + strips);
        assert!((share - 75.0).abs() <= 10.0, "{squares} and {strips}: {share} %");
    });
}

#[test]
fn hundreds_of_threads_have_windows_of_their_own() {
    let program =
        Program::new("Dispatches").arguments(["1500", "300"]).quipu(["--calls", OFTEN[0], OFTEN[1]]);
    program.since(CALLS.since).on_every_jdk(|run| {
        assert_eq!(run.stdout.trim(), "the same in every round", "{}", run.said());
        assert!(sampled(run, "Dispatches").values().sum::<u64>() >= 200, "{}", run.said());
    });
}

/// No window is opened for a virtual thread, and nothing happens to it.
#[test]
fn virtual_threads_go_on() {
    Program::new("VirtualThreads")
        .arguments(["20000", "100"])
        .quipu(["--calls", OFTEN[0], OFTEN[1]])
        .on_every_jdk(|run| {
            assert!(run.status.success(), "{}", run.said());
        });
}
