//! Every sampled context exists in the exact tree.

use std::collections::BTreeSet;

use quipu_e2e::{Program, Run, on_every_jdk};

/// The contexts of a thread with their threads, as far as the profile's thread is one of the application's.
fn contexts(run: &Run, threads: &[&str]) -> BTreeSet<Vec<String>> {
    let mut all = BTreeSet::new();
    for &name in threads {
        let thread = run.thread(name);
        for node in thread.nodes() {
            let mut path = vec![name.to_owned()];
            path.extend(thread.full_path_of(node));
            all.insert(path);
        }
    }
    all
}

fn check(program: &Program, threads: &[&str]) {
    on_every_jdk(|jdk| {
        if !program.runs_on(jdk) {
            return;
        }
        let exact = program.clone().quipu(["--deterministic"]).run(jdk);
        let exact = contexts(exact.assert_whole(), threads);
        // The more there is between samples, the longer may one be written down before it is taken.
        for (every, fewest) in [("97", 50), ("3001", 10)] {
            let options = ["--deterministic", "--bytecodes", every, "--jitter", "10"];
            let sampled = program.clone().quipu(options).run(jdk);
            let sampled = contexts(sampled.assert_whole(), threads);
            let strange: Vec<_> = sampled.difference(&exact).take(5).collect();
            assert!(strange.is_empty(), "JDK {}: not in the exact tree: {strange:#?}", jdk.feature);
            assert!(sampled.len() > fewest, "{}", sampled.len());
        }
    });
}

#[test]
fn contexts_of_hot_code_are_in_the_exact_tree() {
    check(&Program::new("Hot").arguments(["10"]), &["main", "first", "second"]);
}

#[test]
fn contexts_of_exceptions_are_in_the_exact_tree() {
    check(&Program::new("Exceptions").arguments(["5000", "1"]), &["main"]);
}

#[test]
fn contexts_of_the_language_are_in_the_exact_tree() {
    check(&Program::new("Language"), &["main"]);
}

#[test]
fn contexts_of_the_library_are_in_the_exact_tree() {
    check(&Program::new("Collections"), &["main"]);
    check(&Program::new("Regex"), &["main"]);
}
