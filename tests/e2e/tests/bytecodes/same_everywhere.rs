//! The same samples everywhere: whatever compiles the code, whatever collects the garbage, run after run.

use quipu_e2e::{Jdk, Program, knows_flag, on_every_jdk, sample_differences};
use quipu_profile::{Contents, Profile, Target};

const THREADS: [&str; 3] = ["main", "first", "second"];

const FLAGS: [&str; 6] = [
    "-Xint",
    "-XX:TieredStopAtLevel=1",
    "-XX:-TieredCompilation",
    "-XX:+UseSerialGC",
    "-XX:+UseParallelGC",
    "-XX:+UseZGC",
];

fn program() -> Program {
    // So many that samples are written down before they are taken.
    Program::new("Hot").arguments(["20"]).quipu(["--deterministic", "--bytecodes", "2000"])
}

/// The application's threads. The command differs in the flag that was given.
fn application(program: &Program, jdk: &Jdk) -> Profile {
    let run = program.run(jdk);
    let profile = run.assert_whole().profile();
    let mut profile = profile.select_threads(|profile, thread| THREADS.contains(&profile.str(thread.name)));
    profile.meta.target = Target::default();
    profile
}

fn assert_same(expected: &Profile, found: &Profile, what: &str) {
    if expected.to_bytes(Contents::WithoutRun) != found.to_bytes(Contents::WithoutRun) {
        assert_eq!(expected.meta, found.meta, "{what}");
        panic!("{what}:\n{}", sample_differences(expected, found).join("\n"));
    }
}

#[test]
fn compilers_and_collectors_do_not_change_the_samples() {
    on_every_jdk(|jdk| {
        let expected = application(&program(), jdk);
        assert_same(&expected, &application(&program(), jdk), &format!("JDK {}, again", jdk.feature));
        for flag in FLAGS.into_iter().filter(|flag| knows_flag(jdk, flag)) {
            let found = application(&program().jvm([flag]), jdk);
            assert_same(&expected, &found, &format!("JDK {} {flag}", jdk.feature));
        }
    });
}

#[test]
fn the_seed_and_the_jitter_decide_where_samples_are() {
    on_every_jdk(|jdk| {
        let tree = |options: [&str; 2]| {
            let profile = application(&program().quipu(options), jdk);
            let metric = profile.metric("samples.bytecodes").expect("samples").values().to_vec();
            (profile.tree().len(), metric)
        };
        let seed_1 = tree(["--seed", "1"]);
        assert_ne!(seed_1, tree(["--seed", "2"]));
        assert_ne!(seed_1, tree(["--jitter", "0"]));
        // Without jitter there is nothing for the seed to decide.
        let without = |seed| application(&program().quipu(["--jitter", "0", "--seed", seed]), jdk);
        let values =
            |profile: &Profile| profile.metric("samples.bytecodes").expect("samples").values().to_vec();
        assert_eq!(values(&without("1")), values(&without("2")));
    });
}

/// Else a sampled profile would be compared with an exact one of other work.
#[test]
fn hash_codes_do_not_depend_on_what_is_measured() {
    on_every_jdk(|jdk| {
        let printed = |options: [&str; 2]| {
            let program = Program::new("HashCodes").quipu(["--deterministic"]).quipu(options);
            program.run(jdk).assert_whole().stdout.clone()
        };
        let sampled = printed(["--bytecodes", "10000"]);
        assert_eq!(sampled, printed(["--contexts", "all"]));
        assert_eq!(sampled, printed(["--contexts", "none"]));
    });
}
