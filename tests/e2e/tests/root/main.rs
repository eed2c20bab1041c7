//! A root and all that it calls, against the exact profile of the same program, and against times that the program takes itself.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod executions;
mod robust;
mod running;

use std::collections::{BTreeMap, BTreeSet};

use quipu_e2e::{Program, Run, programs};
use quipu_profile::Profile;

const ROOT: &str = "Subgraph.place";

/// Calls of the program's own methods in their contexts below a method, without the JDK's frames in between.
fn below(profile: &Profile, root: &str) -> BTreeMap<Vec<String>, u64> {
    let program = root.split(['.', '$']).next().expect("a class");
    let calls = profile.metric("calls").expect("calls").values();
    let tree = profile.tree();
    let mut found = BTreeMap::new();
    for node in 0..tree.len() as u32 {
        let names = tree.path(node).into_iter().filter_map(|node| tree.method(node));
        let names: Vec<String> = names.map(|method| profile.method_name(method)).collect();
        let Some(at) = names.iter().position(|name| name == root) else { continue };
        let own: Vec<String> = names.into_iter().skip(at).filter(|name| name.starts_with(program)).collect();
        let is_own = tree.method(node).is_some_and(|m| profile.method_name(m).starts_with(program));
        if is_own && calls[node as usize] > 0 {
            *found.entry(own).or_insert(0) += calls[node as usize];
        }
    }
    found
}

fn assert_whole(run: &Run) {
    assert!(run.status.success(), "{}", run.said());
    assert!(run.profile().meta.lost.is_empty(), "lost {:?}", run.profile().meta.lost);
    let late = run.profile().run.extra.iter().find(|(key, _)| key == "root.late");
    assert!(late.is_none(), "{late:?}");
}

/// The same calls in the same contexts as the truth has below a root.
fn assert_same(run: &Run, truth: &BTreeMap<Vec<String>, u64>, root: &str, what: &str) {
    let found = below(run.profile(), root);
    let differing: Vec<_> = truth
        .iter()
        .filter(|(path, calls)| found.get(*path) != Some(calls))
        .map(|(path, calls)| (path, calls, found.get(path)))
        .collect();
    assert!(differing.is_empty(), "{what}: {differing:#?}");
    let others: Vec<_> = found.iter().filter(|(path, _)| !truth.contains_key(*path)).collect();
    assert!(others.is_empty(), "{what}: {others:#?}");
}

#[test]
fn a_root_has_the_calls_that_exact_counts_have_below_it() {
    let program = || Program::new("Subgraph").arguments(["400", "8"]);
    program().quipu(["--exact"]).on_every_jdk(|truth| {
        assert!(truth.status.success(), "{}", truth.said());
        let truth_below = below(truth.profile(), ROOT);
        assert_eq!(truth_below[&vec![ROOT.to_owned()]], 8 * 400);
        for flags in [&["-Xmixed"][..], &["-Xint"], &["-Xcomp"]] {
            for scheme in ["lazy", "eager"] {
                let root = program().quipu(["--root", ROOT, "--scheme", scheme]);
                let run = flags.iter().fold(root, |program, &flag| program.jvm([flag])).run(&truth.jdk);
                assert_whole(&run);
                assert_same(&run, &truth_below, ROOT, &format!("{flags:?} {scheme}"));
                // Nothing else is recorded.
                let (profile, tree) = (run.profile(), run.profile().tree());
                let depths = tree.depths();
                let tops = (0..tree.len() as u32).filter(|&node| depths[node as usize] == 1);
                let loads = profile.methods().iter().find(|method| profile.str(method.name) == "loadClass");
                assert!(loads.is_none(), "loading classes is not what the root does");
                for top in tops.filter_map(|node| tree.method(node)) {
                    assert_eq!(profile.method_name(top), ROOT);
                }
            }
        }
    });
}

/// Initialisers of classes, texts, records, bridges, reflection, and exceptions through frames of others.
#[test]
fn calls_that_code_does_not_name_are_below_the_root() {
    const ROOT: &str = "Indirect.place";
    let program = || Program::new("Indirect").arguments(["60"]);
    program().quipu(["--exact"]).on_every_jdk(|truth| {
        assert!(truth.status.success(), "{}", truth.said());
        let truth_below = below(truth.profile(), ROOT);
        assert_eq!(truth_below[&vec![ROOT.to_owned()]], 60);
        for flag in ["-Xmixed", "-Xint"] {
            let run = program().quipu(["--root", ROOT]).jvm([flag]).run(&truth.jdk);
            assert_whole(&run);
            assert_same(&run, &truth_below, ROOT, &format!("{flag} on {}", truth.jdk.feature));
        }
    });
}

#[test]
fn corrected_times_are_those_that_the_program_takes() {
    let program = Program::new("Subgraph").arguments(["1", "1", "3000"]).quipu(["--root", "Subgraph.timed"]);
    program.on_every_jdk(|run| {
        assert_whole(run);
        let took = run.stdout.lines().find_map(|line| line.strip_prefix("took ")).expect("times");
        let took: Vec<u64> = took.split(' ').map(|nanos| nanos.parse().expect("a number")).collect();
        let (profile, tree) = (run.profile(), run.profile().tree());
        let times = profile.metric("time").expect("times").values();
        let own = |path: [&str; 2]| -> u64 {
            let ends = |&node: &u32| {
                let names = tree.path(node).into_iter().filter_map(|node| tree.method(node));
                let names: Vec<String> = names.map(|method| profile.method_name(method)).collect();
                names.ends_with(&path.map(str::to_owned))
            };
            (0..tree.len() as u32).filter(ends).map(|node| times[node as usize]).sum()
        };
        let (took, beside) = took.split_at(3);
        // If other processes run while the program looks at no clock of its own, the profile's runs. Measuring takes less than that.
        let not_its_own = beside[0].saturating_sub(3000 * 1000);
        for (method, &truth) in ["Subgraph.five", "Subgraph.twenty", "Subgraph.eighty"].into_iter().zip(took)
        {
            let found = own([method, "Subgraph.took"]);
            let (least, most) = (truth * 95 / 100, truth * 105 / 100 + not_its_own);
            assert!(
                (least..=most).contains(&found),
                "{method}: {found} ns, and it took {truth}; {}",
                run.said()
            );
        }
        // 2,000 calls of a getter for each of these: uncorrected, it would lead.
        let calls = profile.metric("calls").expect("calls");
        let getter = (0..tree.len() as u32)
            .filter(|&node| tree.method(node).is_some_and(|m| profile.method_name(m) == "Subgraph.getter"));
        assert_eq!(getter.map(|node| calls.values()[node as usize]).sum::<u64>(), 3000 * 2000);
        let itself = own(["Subgraph.timed", "Subgraph.timed"]) + own(["[main]", "Subgraph.timed"]);
        assert!(itself < own(["Subgraph.eighty", "Subgraph.took"]), "{itself} ns of getters; {}", run.said());
    });
}

/// Calls are counted, and samples are in the contexts that threads have published: these begin at the root.
#[test]
fn times_can_be_sampled() {
    let program = Program::new("Subgraph").arguments(["1", "1", "3000"]);
    let options = ["--root", "Subgraph.timed", "--time", "sampled", "--cpu", "1000"];
    program.quipu(options).on_every_jdk(|run| {
        // Stacks outside of the root are walked, and one of them may not be.
        assert!(run.status.success(), "{}", run.said());
        let (profile, tree) = (run.profile(), run.profile().tree());
        assert!(profile.metric("time").is_none() && profile.metric("time.raw").is_none());
        let of = |metric: &str, path: &[&str]| -> u64 {
            let values = profile.metric(metric).expect("it is there").values();
            let is_it = |&node: &u32| {
                let names = tree.path(node).into_iter().filter_map(|node| tree.method(node));
                names.map(|method| profile.method_name(method)).eq(path.iter().copied())
            };
            (0..tree.len() as u32).filter(is_it).map(|node| values[node as usize]).sum()
        };
        assert_eq!(of("calls", &["Subgraph.timed", "Subgraph.getter"]), 3000 * 2000);
        let spins = ["Subgraph.five", "Subgraph.twenty", "Subgraph.eighty"].map(|spins| {
            let path = ["Subgraph.timed", spins, "Subgraph.took"];
            assert_eq!(of("calls", &path), 3000);
            of("cpu", &path)
        });
        let [five, twenty, eighty] = spins;
        // Each waits for the clock, so on a machine that is busy they take less of the processor.
        assert!(eighty > twenty && eighty > five, "{spins:?} {}", run.said());
        assert_eq!(profile.metric("executions").expect("executions").total(), 3000);
    });
}

#[test]
fn sampled_times_need_samples() {
    let program = Program::new("Subgraph").arguments(["1", "1"]);
    let run = program
        .quipu(["--root", ROOT, "--time", "sampled"])
        .run(&quipu_e2e::jdks::find().pop().expect("a JDK"));
    assert!(run.said().contains("need cpu or wall beside root"), "{}", run.said());
}

#[test]
fn roots_are_named_in_several_ways() {
    let source = std::fs::read_to_string(programs().join("Subgraph.java")).expect("a source");
    let line = source.lines().position(|line| line.contains("static long place(")).expect("it is there");
    // The second line behind the method's name is within it.
    let line = format!("Subgraph.java:{}", line + 3);
    for (root, top) in [
        ("Subgraph.plac*", ROOT),
        (&*line, ROOT),
        ("Subgraph#place(int,boolean)", ROOT),
        ("main", "Subgraph.main"),
        ("Subgraph$Late.area", "Subgraph$Late.area"),
    ] {
        Program::new("Subgraph").arguments(["50", "2"]).quipu(["--root", root]).on_every_jdk(|run| {
            assert_whole(run);
            assert!(!below(run.profile(), top).is_empty(), "{root}; {}", run.said());
        });
    }
}

#[test]
fn filters_choose_what_is_looked_at_below_a_root() {
    let program = Program::new("Subgraph").arguments(["50", "2"]);
    program.quipu(["--root", ROOT, "--include", "Subgraph$Square"]).on_every_jdk(|run| {
        assert_whole(run);
        let found = below(run.profile(), ROOT);
        let square = [ROOT, "Subgraph$Square.area"].map(str::to_owned);
        assert_eq!(found[&vec![ROOT.to_owned()]], 100);
        assert!(found.contains_key(&square[..]), "{found:?}");
        assert!(
            found.keys().flatten().all(|name| name == ROOT || name.starts_with("Subgraph$Square.")),
            "{found:?}"
        );
    });
}

/// Each by itself, whatever others there are.
#[test]
fn roots_that_there_are_not_are_said_with_the_nearest_names() {
    let roots = ["Subgraf.place", "Subgraph.plaice", "Subgraph$Shape.area", "java.lang.Object.hashCode"];
    let options: Vec<&str> = roots.iter().flat_map(|root| ["--root", root]).collect();
    Program::new("Subgraph").arguments(["50", "2"]).quipu_all(&options).on_every_jdk(|run| {
        assert!(run.status.success(), "{}", run.said());
        let said = run.said();
        for sentence in [
            "--root Subgraf.place: no such method was loaded; there is Subgraph",
            "--root Subgraph.plaice: no such method was loaded; there is Subgraph.place",
            "--root java.lang.Object.hashCode: not instrumented: java.lang.Object.hashCode: ",
        ] {
            assert!(said.contains(sentence), "{said}");
        }
        assert_eq!(said.matches("--root ").count(), 3, "{said}");
        // A method without code is what implements it, also in classes that are loaded later.
        let found = below(run.profile(), "Subgraph$Late.area");
        assert_eq!(found[&vec!["Subgraph$Late.area".to_owned()]], 50, "{found:?}");
        assert!(!below(run.profile(), "Subgraph$Circle.area").is_empty());
        let told = |key: &str| {
            let told = run.profile().run.extra.iter().find(|(known, _)| key == known);
            told.and_then(|(_, number)| number.parse::<usize>().ok()).unwrap_or_else(|| panic!("no {key}"))
        };
        let profile = run.profile();
        let calls = profile.metric("calls").expect("calls").values();
        let called = (0..profile.tree().len() as u32).filter(|&node| calls[node as usize] > 0);
        let called: BTreeSet<_> = called.filter_map(|node| profile.tree().method(node)).collect();
        assert_eq!(told("root.ran"), called.len());
        assert!(told("root.instrumented") >= called.len() && told("root.instrumented") < 10 * called.len());
    });
}

#[test]
fn executions_below_themselves_are_parts_of_one() {
    const ROOT: &str = "Subgraph.ring";
    let program = || Program::new("Subgraph").arguments(["200", "4"]);
    program().quipu(["--exact"]).on_every_jdk(|truth| {
        assert!(truth.status.success(), "{}", truth.said());
        let truth_below = below(truth.profile(), ROOT);
        let run = program().quipu(["--root", ROOT]).run(&truth.jdk);
        assert_whole(&run);
        assert_same(&run, &truth_below, ROOT, "recursion");
        let outermost = truth_below[&vec![ROOT.to_owned()]];
        assert_eq!(run.profile().metric("executions").expect("executions").total(), outermost);
    });
}

#[test]
fn roots_below_which_stacks_run_out_end() {
    for flag in ["-Xmixed", "-Xint"] {
        let program = Program::new("Overflows").arguments(["200", "3"]);
        program.quipu(["--root", "Overflows.*"]).jvm([flag]).on_every_jdk(|run| {
            assert!(run.status.success(), "{}", run.said());
            assert_eq!(run.stdout.trim(), "600 overflows", "{flag}; {}", run.said());
            let lost = &run.profile().meta.lost;
            assert!(lost.keys().all(|what| !what.starts_with("arena.damaged")), "lost {lost:?}");
        });
    }
}
