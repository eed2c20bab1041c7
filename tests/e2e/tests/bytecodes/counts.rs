//! As many samples as bytecodes say: the total divided by N.

use quipu_e2e::{Program, on_every_jdk};

/// Within a hundredth of what is expected.
fn assert_near(found: u64, expected: u64, what: &str) {
    assert!(found.abs_diff(expected) * 100 <= expected, "{what}: {found} samples, {expected} expected");
}

/// `LongLoop` executes 9 + outer · (10 + inner · 14) bytecodes in its loop.
#[test]
fn a_loop_has_a_sample_for_every_n_bytecodes() {
    on_every_jdk(|jdk| {
        let (outer, inner) = (200, 100_000);
        let total: u64 = 9 + outer * (10 + inner * 14);
        for (every, jitter) in [(500, 0), (10_000, 100), (100_000, 100), (1_000_000, 0)] {
            let program = Program::new("LongLoop").arguments([outer.to_string(), inner.to_string()]);
            let (n, r) = (every.to_string(), jitter.to_string());
            let run = program.quipu(["--bytecodes", &n, "--jitter", &r]).run(jdk);
            let main = run.assert_whole().thread("main");
            let found = main.samples_of("LongLoop", "loop");
            // What is random adds half of its range on average.
            assert_near(found, 2 * total / (2 * every + jitter), &format!("JDK {} every {n}", jdk.feature));
        }
    });
}

/// Calls, exceptions, collections: the sum over all contexts is what the exact profile counts.
#[test]
fn a_program_has_a_sample_for_every_n_bytecodes() {
    for (main, arguments) in [("Hot", vec!["20"]), ("Exceptions", vec!["20000", "20"])] {
        on_every_jdk(|jdk| {
            let program = Program::new(main).arguments(arguments.clone());
            let exact = program.clone().quipu(["--deterministic"]).run(jdk);
            let sampled = program.quipu(["--deterministic", "--bytecodes", "200", "--jitter", "0"]).run(jdk);
            let total = exact.assert_whole().thread("main").total().bytecodes;
            let found = sampled.assert_whole().thread("main").all_samples();
            assert_near(found, total / 200, &format!("JDK {} {main}", jdk.feature));
        });
    }
}

/// Below the limit all methods are children of that level's context.
#[test]
fn deep_stacks_are_sampled_and_can_be_folded() {
    let program = Program::new("Deep").arguments(["100000", "0", "512"]).quipu(["--bytecodes", "100"]);
    program.on_every_jdk(|run| {
        let deep = run.assert_whole().thread("deep");
        assert!(deep.depth() > 90_000, "{}", deep.depth());
        let down = deep.samples_of("Deep", "down");
        // 9 bytecodes a call; the mean distance of samples is 149.5.
        assert_near(down, 900_005 * 2 / 299, "down");
    });
    program.clone().quipu(["--max-depth", "60"]).on_every_jdk(|run| {
        let deep = run.assert_whole().thread("deep");
        assert_eq!(deep.depth(), 61);
        let down = deep.samples_of("Deep", "down");
        assert_near(down, 900_005 * 2 / 299, "down, folded");
    });
}

/// A stack that overflows does so anywhere, in the profiler's own code too. What comes later is sampled right.
#[test]
fn a_stack_overflow_does_not_disturb_later_samples() {
    for flags in [["-Xint"], ["-Xbatch"]] {
        let program = Program::new("Deep").arguments(["10", "50", "1"]).quipu(["--bytecodes", "5"]);
        program.quipu(["--jitter", "2"]).jvm(flags).on_every_jdk(|run| {
            assert!(run.status.success(), "{}", run.said());
            let deep = run.thread("deep");
            for node in deep.contexts("Deep", "step") {
                let path = deep.path_of(node);
                let callers: Vec<&str> = path.iter().rev().skip(1).take(2).map(String::as_str).collect();
                let known = [["Deep.steps", "Deep.overflow"], ["Deep.steps", "Deep.run"]];
                assert!(known.iter().any(|known| known[..] == callers[..]), "{path:?}");
            }
            assert!(!deep.contexts("Deep", "step").is_empty());
        });
    }
}
