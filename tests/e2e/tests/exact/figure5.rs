//! The example of Binder's figure 5, whose counts can be worked out by hand.

use quipu_e2e::{Counts, Program};

/// `sum(1, 1000)` executes 2 + 3·1001 + 7·1000 + 2 bytecodes.
#[test]
fn sum_of_figure_5_has_the_counts_of_the_paper() {
    for analysis in ["default", "precise", "calls,throws"] {
        Program::new("Foo").quipu(["--bba", analysis]).on_every_jdk(|run| {
            let main = run.assert_whole().thread("main");
            assert_eq!(main.method("Foo", "sum"), Counts { calls: 1, bytecodes: 10_007 }, "--bba {analysis}");
            assert_eq!(
                main.method("Foo", "f"),
                Counts { calls: 1_000, bytecodes: 6_000 },
                "--bba {analysis}"
            );
            assert_eq!(main.path(&["Foo.main", "Foo.sum", "Foo.f"]).calls, 1_000, "--bba {analysis}");
        });
    }
}
