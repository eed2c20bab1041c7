//! Kinds that run together fill columns of one tree: whatever measured a context, it is one node.

use std::collections::BTreeMap;

use quipu_e2e::{Jdk, Program, Run, jdks, on_every_jdk, percent};
use quipu_kinds::{KINDS, Kind};
use quipu_profile::{MethodFlags, NodeId, Profile};

/// More than two of them.
const TOGETHER: [&[&str]; 6] = [
    &["--exact", "--cpu=1000", "--wall=500", "--locks=1ns"],
    &["--exact", "--alloc=16K", "--timeline"],
    &["--cpu=1000", "--alloc=16K", "--timeline", "--locks=1ns"],
    &["--exact", "--wall=500", "--alloc=16K", "--live=8K", "--locks=1ns"],
    &["--exact", "--alloc=all", "--locks=all", "--wall=500", "--timeline"],
    &["--event=page-faults", "--cpu=1000", "--wall=500", "--alloc=16K", "--locks=1ns"],
];

/// A kind, so that a short program has something of it.
fn often(kind: &Kind) -> String {
    let value = match kind.name() {
        "bytecodes" => "=5000",
        "cpu" => "=1000",
        "wall" => "=500",
        "alloc" => "=16K",
        "live" => "=8K",
        "locks" => "=1ns",
        _ => "",
    };
    format!("--{}{value}", kind.name())
}

/// Every two kinds that may run together.
fn pairs() -> Vec<[&'static Kind; 2]> {
    let mut pairs = Vec::new();
    for (at, first) in KINDS.iter().enumerate() {
        let excluded = |second: &Kind| {
            first.excludes.contains(&second.name()) || second.excludes.contains(&first.name())
        };
        pairs.extend(
            KINDS.iter().skip(at + 1).filter(|second| !excluded(second)).map(|&second| [*first, second]),
        );
    }
    pairs
}

/// Whether there is any Java method in the context. There is none in what the launcher does before and after `main`.
fn is_java(profile: &Profile, node: NodeId) -> bool {
    profile
        .tree()
        .path(node)
        .into_iter()
        .filter_map(|node| profile.tree().method(node))
        .any(|method| !profile.method(method).flags.contains(MethodFlags::FOREIGN))
}

/// What a thread has of a metric in nodes that another metric tells of, and in all of Java.
fn shared(profile: &Profile, thread: &str, metric: &str, with: &str) -> (u64, u64) {
    let found = profile.threads().iter().find(|found| profile.str(found.name) == thread);
    let thread = found.unwrap_or_else(|| panic!("no thread {thread}"));
    let values = profile.metric(metric).unwrap_or_else(|| panic!("no metric {metric}")).values();
    let others = profile.metric(with).unwrap_or_else(|| panic!("no metric {with}")).values();
    let java = profile.tree().subtree(thread.root).filter(|&node| is_java(profile, node));
    java.fold((0, 0), |(both, all), node| {
        let value = values[node as usize];
        (if others[node as usize] > 0 { both + value } else { both }, all + value)
    })
}

/// No node has two children of the same method, if sites are not told apart; or of the same method and site. What instructions do
/// that are told apart is below the method of each.
fn assert_one_node_for_one_context(run: &Run) {
    let profile = run.profile();
    let tree = profile.tree();
    let sites = profile.meta.options.iter().any(|(name, _)| name == "sites");
    for node in 0..tree.len() as NodeId {
        let is_detail = |child: NodeId| tree.method(child).is_some_and(|m| profile.method(m).is_detail());
        let site = |child: NodeId| (sites || is_detail(child)).then(|| tree.sites()[child as usize]);
        let mut methods: Vec<_> =
            tree.children(node).map(|child| (tree.method(child), site(child))).collect();
        let children = methods.len();
        methods.sort_unstable();
        methods.dedup();
        assert_eq!(methods.len(), children, "below {:?}", tree.method(node).map(|m| profile.method_name(m)));
    }
    let mut names: Vec<_> = profile.threads().iter().map(|t| (profile.str(t.name), t.kind)).collect();
    let threads = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), threads, "two threads have one name: {names:?}");
}

/// Runs something of everything, and looks for all that the kinds are for.
fn assert_one_tree(jdk: &Jdk, kinds: &[String]) {
    let program = Program::new("Mixed").arguments(["15"]);
    // Its threads use little CPU time.
    let calls = kinds.iter().any(|kind| kind == "--calls");
    let program = if calls { program.quipu(["--tick", "1ms"]) } else { program };
    let run = kinds.iter().fold(program, |program, kind| program.quipu([kind.as_str()])).run(jdk);
    assert!(run.status.success(), "{}", run.said());
    assert_one_node_for_one_context(&run);
    for kind in kinds {
        let name = kind.trim_start_matches("--").split('=').next().unwrap_or_default();
        let kind = quipu_kinds::kind(name).expect("a kind");
        // What it is for comes first; a kind without metrics has events.
        let Some(metric) = kind.metrics.first() else {
            assert!(!run.profile().events().is_empty(), "{kinds:?}: no events");
            continue;
        };
        let name = metric.name.replace("NAME", "page-faults");
        let total = run.profile().metric(&name).map(|metric| metric.total());
        assert!(total.is_some_and(|total| total > 0), "{kinds:?}: {name} {total:?}");
    }
}

/// Each pair on one of the JDKs in turn; on all of them with `QUIPU_FULL`, as all else.
#[test]
fn every_pair_of_kinds_makes_one_tree() {
    let pairs = pairs();
    assert!(pairs.len() >= 20, "{} pairs", pairs.len());
    let jdks: Vec<_> = jdks::find().into_iter().map(|jdk| jdk.home).collect();
    let full = std::env::var_os("QUIPU_FULL").is_some();
    on_every_jdk(|jdk| {
        let turn = jdks.iter().position(|home| *home == jdk.home).unwrap_or(0);
        for (at, pair) in pairs.iter().enumerate() {
            let too_old = pair.iter().any(|kind| kind.since > jdk.feature);
            if (full || at % jdks.len().max(1) == turn) && !too_old {
                assert_one_tree(jdk, &pair.map(often));
            }
        }
    });
}

#[test]
fn more_than_two_kinds_make_one_tree() {
    on_every_jdk(|jdk| {
        for kinds in TOGETHER {
            assert_one_tree(jdk, &kinds.iter().map(|&kind| kind.to_owned()).collect::<Vec<_>>());
        }
    });
}

/// The methods of the program on the way to a node.
fn path(profile: &Profile, node: NodeId) -> Vec<String> {
    let names = profile.tree().path(node).into_iter().filter_map(|node| {
        Some(profile.method_name(profile.tree().method(node)?).strip_prefix("Paths.")?.to_owned())
    });
    names.collect()
}

/// CPU time by context.
fn by_path(profile: &Profile) -> BTreeMap<Vec<String>, u64> {
    let (tree, cpu) = (profile.tree(), profile.metric("cpu").expect("cpu").values());
    let mut paths = BTreeMap::new();
    for node in 0..tree.len() as NodeId {
        let path = path(profile, node);
        if !path.is_empty() {
            *paths.entry(path).or_insert(0) += cpu[node as usize];
        }
    }
    paths
}

/// The context that a thread has published is where a walk finds it, and where the program is known to spend its time.
#[test]
fn published_contexts_are_those_that_a_walk_finds() {
    let deep: Vec<&str> = std::iter::once("main").chain(["deep"; 31]).chain(["mixed"]).collect();
    let known: [(&[&str], f64); 6] = [
        (&["main", "left", "spin"], 10.0),
        (&["main", "left", "inner", "spin"], 15.0),
        (&["main", "right", "spin"], 20.0),
        (&["main", "right", "inner", "spin"], 25.0),
        (&deep, 25.0),
        (&[&deep[..], &["spin"]].concat(), 5.0),
    ];
    on_every_jdk(|jdk| {
        // Of 1,800 samples each, chance takes 3 % of the overlap, and 6 % once in a hundred runs.
        let program = Program::new("Paths").arguments(["100000"]).quipu(["--cpu=1000"]);
        let walked = program.run(jdk);
        let published = program.clone().quipu(["--exact"]).run(jdk);
        let [walked, published] = [&walked, &published].map(|run| {
            assert!(run.status.success(), "{}", run.said());
            let paths = by_path(run.profile());
            let all: u64 = paths.values().sum();
            assert!(all > 1_500_000_000, "{all} ns; {}", run.said());
            let share = move |path: &[&str]| {
                let path: Vec<String> = path.iter().map(|&name| name.to_owned()).collect();
                percent(paths.get(&path).copied().unwrap_or(0), all)
            };
            known.map(|(path, _)| share(path))
        });
        let what = format!("JDK {}: walked {walked:.1?}, published {published:.1?}", jdk.feature);
        println!("{what}");
        let overlap: f64 = walked.iter().zip(&published).map(|(a, b)| a.min(*b)).sum();
        assert!(overlap >= 90.0, "{overlap} %; {what}");
        for ((path, share), published) in known.iter().zip(published) {
            assert!((share - published).abs() <= 5.0, "{path:?}: {share} %; {what}");
        }
    });
}

/// Nothing is published where no method has a context: stacks are walked, and lead past nodes that count for all contexts.
#[test]
fn samples_have_contexts_where_counts_have_none() {
    on_every_jdk(|jdk| {
        let program =
            Program::new("Paths").arguments(["40000"]).quipu(["--exact", "--contexts=none", "--cpu=1000"]);
        let run = program.run(jdk);
        assert!(run.status.success(), "{}", run.said());
        let paths = by_path(run.profile());
        let all: u64 = paths.values().sum();
        let share = |path: &[&str]| {
            let path: Vec<String> = path.iter().map(|&name| name.to_owned()).collect();
            percent(paths.get(&path).copied().unwrap_or(0), all)
        };
        let what = format!("JDK {}: {paths:?}; {}", jdk.feature, run.said());
        assert!(all > 500_000_000, "{what}");
        let known: [(&[&str], f64); 4] = [
            (&["main", "left", "spin"], 10.0),
            (&["main", "left", "inner", "spin"], 15.0),
            (&["main", "right", "spin"], 20.0),
            (&["main", "right", "inner", "spin"], 25.0),
        ];
        for (path, known) in known {
            assert!((share(path) - known).abs() <= 7.0, "{path:?}: {} %; {what}", share(path));
        }
        assert!(run.profile().metric("calls").is_some_and(|calls| calls.total() > 0), "{what}");
    });
}

/// The same in one run, sample by sample: agents that are built for tests walk the stack as well, in the same signal. Where the
/// two differ, the method has been called and has not published yet, or has published the end of its call and not returned.
#[test]
fn each_published_context_is_what_a_walk_finds_in_the_same_signal() {
    on_every_jdk(|jdk| {
        let program = Program::new("Paths").arguments(["100000"]).quipu(["--exact", "--cpu=1000"]);
        let run = program.checked().variable("QUIPU_COMPARE_WALKS", "1").run(jdk);
        assert!(run.status.success(), "{}", run.said());
        let profile = run.profile();
        let mut moments: BTreeMap<_, [Option<Vec<String>>; 2]> = BTreeMap::new();
        for event in profile.events() {
            let found = match profile.str(event.name) {
                "test.published" => 0,
                "test.walked" => 1,
                other => panic!("{other}: nobody asked for that"),
            };
            let before = moments.entry((event.time, event.thread)).or_default()[found]
                .replace(path(profile, event.node));
            assert_eq!(before, None, "two in one moment");
        }
        let (mut samples, mut other, mut failed) = (0, 0, 0);
        for both in moments.values() {
            // There is room for some thousand events.
            let [Some(published), Some(walked)] = both else { continue };
            if published.is_empty() && walked.is_empty() {
                continue;
            }
            samples += 1;
            if walked.first().is_some_and(|root| root != "main") || (walked.is_empty() && published.len() > 1)
            {
                failed += 1;
            } else if published != walked {
                other += 1;
                let common = published.iter().zip(walked).take_while(|(one, two)| one == two).count();
                let (shorter, longer) =
                    (published.len().min(walked.len()), published.len().max(walked.len()));
                assert!(common == shorter && longer == shorter + 1, "{both:?}");
            }
        }
        let what =
            format!("JDK {}: {samples} samples, {other} one call apart, {failed} walks failed", jdk.feature);
        println!("{what}");
        assert!(samples > 1000, "{samples} samples; is this an agent with debug assertions?");
        assert!(percent(other, samples) <= 5.0 && percent(failed, samples) <= 0.5, "{what}");
    });
}

#[test]
fn samples_are_in_nodes_that_have_calls() {
    for sampled in ["--cpu=1000", "--wall=1000"] {
        let metric = sampled.trim_start_matches("--").split('=').next().unwrap_or_default();
        let program = Program::new("Collections").arguments(["200000"]).quipu(["--exact", sampled]);
        program.on_every_jdk(|run| {
            let (counted, all) = shared(run.profile(), "main", metric, "calls");
            assert!(all > 200_000_000, "{all} ns of {metric}; {}", run.said());
            assert!(percent(counted, all) >= 99.0, "{} % of {metric}", percent(counted, all));
        });
    }
}

/// Counts of the program do not depend on whether somebody samples. (Some of the JDK's classes are used by the sampler
/// first, so that their initialisation is not in the program's counts.)
#[test]
fn counts_are_the_same_with_samples() {
    let counts = |run: &Run| {
        assert!(run.status.success(), "{}", run.said());
        let mut methods = run.thread("main").by_method();
        methods.retain(|name, _| name.starts_with("Collections"));
        assert!(!methods.is_empty(), "{}", run.said());
        methods
    };
    let program = Program::new("Collections").arguments(["2000"]).quipu(["--deterministic", "--exact"]);
    on_every_jdk(|jdk| {
        let alone = program.run(jdk);
        let sampled = program.clone().quipu(["--cpu", "1000"]).run(jdk);
        assert_eq!(counts(&alone), counts(&sampled));
    });
}
