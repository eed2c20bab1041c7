//! Deep stacks, stacks without end, and activations with more bytecodes than an int can count.

use quipu_e2e::{Counts, Program, on_every_jdk};

const DEPTH: u64 = 100_000;

fn deep(overflows: u32, megabytes: u32) -> Program {
    Program::new("Deep").arguments([DEPTH.to_string(), overflows.to_string(), megabytes.to_string()])
}

/// `down` executes 5 bytecodes when it ends, and 9 when it goes on.
#[test]
fn a_recursion_of_100_000_calls_has_100_000_contexts() {
    deep(0, 512).on_every_jdk(|run| {
        let deep = run.assert_whole().thread("deep");
        assert_eq!(deep.contexts("Deep", "down").len() as u64, DEPTH + 1);
        let down = deep.method("Deep", "down");
        assert_eq!(down, Counts { calls: DEPTH + 1, bytecodes: 9 * DEPTH + 5 });
    });
}

#[test]
fn folding_below_a_depth_keeps_the_totals() {
    on_every_jdk(|jdk| {
        let whole = deep(0, 512).run(jdk);
        for (depth, limit) in [("1", 1), ("60", 60)] {
            let folded = deep(0, 512).quipu(["--max-depth", depth]).run(jdk);
            let (whole, folded) = (whole.thread("deep"), folded.assert_whole().thread("deep"));
            // What is folded hangs from the deepest level.
            assert!(folded.depth() <= limit + 1, "--max-depth {depth} gave {}", folded.depth());
            let by_method = |thread: &quipu_e2e::ThreadCounts<'_>| {
                let mut all = thread.by_method();
                all.retain(|name, _| name.starts_with("Deep."));
                all
            };
            assert_eq!(by_method(&whole), by_method(&folded), "--max-depth {depth}");
        }
    });
}

/// A stack that overflows does so anywhere, in the profiler's own code too. What comes later is counted right.
#[test]
fn a_stack_overflow_does_not_disturb_later_counts() {
    for flags in [["-Xint"], ["-Xbatch"]] {
        let overflows = 50;
        let program =
            Program::new("Deep").arguments(["10".to_owned(), overflows.to_string(), "1".to_owned()]);
        program.quipu(["--bba", "precise"]).jvm(flags).on_every_jdk(|run| {
            assert!(run.status.success(), "{}", run.said());
            let deep = run.thread("deep");
            assert_eq!(deep.method("Deep", "overflow").calls, overflows);
            assert_eq!(deep.path(&["Deep.overflow", "Deep.steps"]).calls, overflows, "{flags:?}");
            assert_eq!(deep.path(&["Deep.overflow", "Deep.steps", "Deep.step"]).calls, 10 * overflows);
            assert_eq!(deep.path(&["Deep.run", "Deep.steps"]).calls, 1, "{flags:?}");
            assert_eq!(deep.path(&["Deep.run", "Deep.steps", "Deep.step"]).calls, 1000, "{flags:?}");
        });
    }
}

/// The number of bytecodes is linear in the loops' bounds, which small runs tell; they agree with the truth.
#[test]
fn one_activation_counts_beyond_an_int() {
    on_every_jdk(|jdk| {
        let count = |outer: u64, inner: u64, analysis: &str| {
            let program = Program::new("LongLoop").arguments([outer.to_string(), inner.to_string()]);
            let run = program.quipu(["--bba", analysis]).run(jdk);
            run.assert_whole().thread("main").method("LongLoop", "loop").bytecodes
        };
        for analysis in ["default", "precise"] {
            let none = count(0, 0, analysis);
            let outer = count(1, 0, analysis) - none;
            let inner = count(1, 1, analysis) - none - outer;
            assert_eq!((none, outer, inner), (9, 10, 14), "as javac compiles it");
            let expected = none + 3_000 * (outer + 100_000 * inner);
            assert!(expected > 1 << 31);
            assert_eq!(count(3_000, 100_000, analysis), expected, "--bba {analysis}");
        }
    });
}
