//! The same counts with an agent and without, for the classes that both count.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod support;

use std::fs;
use std::path::Path;

use quipu_e2e::{Jdk, Program, classes, differences, on_every_jdk, sample_differences};
use quipu_profile::Profile;

/// Programs whose counts are the same every time, and their arguments.
const PROGRAMS: [(&str, &[&str]); 9] = [
    ("Foo", &[]),
    ("Json", &[]),
    ("Hot", &["20"]),
    ("Exceptions", &["1000", "100"]),
    ("Language", &[]),
    ("Collections", &[]),
    ("Regex", &[]),
    ("Sites", &[]),
    ("ManyThreads", &["16", "50", "500"]),
];

/// The classes that lie in a directory, by file, without those that lie in others.
fn top_level(classes: &Path) -> Vec<String> {
    let entries = fs::read_dir(classes).expect("classes").flatten();
    let names =
        entries.filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".class").map(str::to_owned));
    names.filter(|name| !name.contains('$')).collect()
}

/// The application's threads. Class loading has others with and without an agent.
fn application(profile: &Profile) -> Profile {
    profile.select_threads(|profile, thread| !profile.str(thread.name).ends_with("[class loading]"))
}

fn assert_same(jdk: &Jdk, options: &[&'static str]) {
    let classes = classes(jdk);
    let counted = support::instrument(jdk, &classes, options);
    for (main, arguments) in PROGRAMS {
        let mut online = Program::new(main).arguments(arguments.iter().copied());
        if !online.runs_on(jdk) {
            continue;
        }
        for option in options {
            online = online.quipu([option]);
        }
        for class in top_level(&classes) {
            online = online.quipu(["--include", &class]);
        }
        let online = online.run(jdk);
        let offline = counted.run(jdk, &[], main, arguments);
        assert_eq!(offline.stdout(), online.stdout, "{main}: {}", offline.stderr());
        offline.assert_quiet();
        let (expected, found) =
            (application(online.assert_whole().profile()), application(&offline.profile()));
        assert!(found.meta.lost.is_empty(), "{main}: lost {:?}", found.meta.lost);
        let differing = differences(&expected, &found);
        assert!(
            differing.is_empty(),
            "{main} on JDK {}, {options:?}:\n{}",
            jdk.feature,
            differing.join("\n")
        );
        assert!(found.metric("calls").expect("calls").total() > 0, "{main}");
    }
}

#[test]
fn contexts_have_the_counts_that_an_agent_counts() {
    on_every_jdk(|jdk| assert_same(jdk, &[]));
}

#[test]
fn precise_counts_are_the_same() {
    on_every_jdk(|jdk| assert_same(jdk, &["--bba", "precise"]));
}

#[test]
fn sites_and_blocks_are_the_same() {
    on_every_jdk(|jdk| assert_same(jdk, &["--sites", "--blocks"]));
}

#[test]
fn samples_are_the_same() {
    const OPTIONS: [&str; 4] = ["--bytecodes", "50", "--jitter", "20"];
    on_every_jdk(|jdk| {
        let classes = classes(jdk);
        let sampled = support::instrument(jdk, &classes, &OPTIONS);
        for (main, arguments) in [("Json", &[][..]), ("Hot", &["20"]), ("Exceptions", &["1000", "1"])] {
            let mut online = Program::new(main).arguments(arguments.iter().copied()).quipu(OPTIONS);
            for class in top_level(&classes) {
                online = online.quipu(["--include", &class]);
            }
            let online = online.run(jdk);
            let offline = sampled.run(jdk, &[], main, arguments);
            offline.assert_quiet();
            let (expected, found) =
                (application(online.assert_whole().profile()), application(&offline.profile()));
            let differing = sample_differences(&expected, &found);
            assert!(differing.is_empty(), "{main} on JDK {}:\n{}", jdk.feature, differing.join("\n"));
            assert!(found.metric("samples.bytecodes").expect("samples").total() > 0, "{main}");
        }
    });
}

/// What is known of the JDK decides which leaves there are, and nothing else.
#[test]
fn without_a_jdk_the_methods_have_the_same_counts() {
    on_every_jdk(|jdk| {
        let classes = classes(jdk);
        let with = support::instrument(jdk, &classes, &[]);
        let without = support::instrument(jdk, &classes, &["--jdk", "none"]);
        for (main, arguments) in PROGRAMS {
            let counts = |counted: &support::Counted| {
                let profile = counted.run(jdk, &[], main, arguments).profile();
                let threads = quipu_e2e::ThreadCounts::of(&profile, |_| true);
                let mut counts = threads.by_method();
                let opaque: Vec<String> = threads
                    .nodes()
                    .filter(|&node| threads.is_opaque(node))
                    .map(|node| threads.name(node))
                    .collect();
                counts.retain(|name, _| !opaque.contains(name));
                counts
            };
            assert_eq!(counts(&with), counts(&without), "{main}");
        }
    });
}

/// Whatever compiles the code and collects the garbage.
#[test]
fn compilers_do_not_change_the_counts() {
    on_every_jdk(|jdk| {
        let counted = support::instrument(jdk, &classes(jdk), &[]);
        let expected = application(&counted.run(jdk, &[], "Hot", &["20"]).profile());
        for flag in ["-Xint", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation", "-Xcomp", "-XX:+UseZGC"] {
            let found = application(&counted.run(jdk, &[flag], "Hot", &["20"]).profile());
            assert_eq!(differences(&expected, &found), Vec::<String>::new(), "{flag} on JDK {}", jdk.feature);
        }
    });
}
