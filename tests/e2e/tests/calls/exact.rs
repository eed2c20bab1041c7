//! Edges of exact profiles, against programs that are known and against what the interpreter itself reports.

use std::collections::BTreeMap;

use quipu_e2e::{Program, on_every_jdk, oracle};
use quipu_profile::{Matching, On, overlap};

use crate::{edges, inside};

/// `caller` calls `callee` from three places, one of them in a loop, and is called from two.
#[test]
fn edges_are_told_apart_by_their_sites() {
    let expected = |rows: &[(&str, i64, &str, u64)]| -> BTreeMap<_, u64> {
        let edge = |&(caller, site, callee, calls): &(&str, i64, &str, u64)| {
            ((format!("Sites.{caller}"), site, format!("Sites.{callee}")), calls)
        };
        rows.iter().map(edge).collect()
    };
    let main = "main([Ljava/lang/String;)V";
    Program::new("Sites").quipu(["--sites"]).on_every_jdk(|run| {
        let found = inside(edges(run.profile(), "calls"), "Sites.");
        let known = [
            (main, 0, "caller()V", 1),
            (main, 3, "caller()V", 1),
            ("caller()V", 1, "callee(I)V", 2),
            ("caller()V", 12, "callee(I)V", 10),
            ("caller()V", 22, "callee(I)V", 2),
        ];
        assert_eq!(found, expected(&known));
    });
    Program::new("Sites").on_every_jdk(|run| {
        let found = inside(edges(run.profile(), "calls"), "Sites.");
        assert_eq!(found, expected(&[(main, -1, "caller()V", 2), ("caller()V", -1, "callee(I)V", 14)]));
    });
}

/// Calls from all sites of a caller add up to those that the interpreter has seen.
#[test]
fn edges_agree_with_the_truth() {
    for name in ["Foo", "Json", "Collections"] {
        on_every_jdk(|jdk| {
            let program = Program::new(name).quipu(["--sites", "--deterministic"]).jvm(oracle::PINS);
            let mut truth: BTreeMap<(String, String), u64> = BTreeMap::new();
            for (path, found) in oracle::trees(&program, jdk).calls {
                if let ([.., caller, callee], oracle::Kind::Counted) = (&path[..], found.kind) {
                    *truth.entry((caller.clone(), callee.clone())).or_default() += found.counts.calls;
                }
            }
            truth.retain(|(caller, callee), _| caller.starts_with(name) && callee.starts_with(name));
            assert!(!truth.is_empty());
            let run = program.run(jdk);
            let found = inside(edges(run.assert_whole().profile(), "calls"), name);
            assert!(found.keys().all(|edge| edge.1 >= 0), "{found:?}");
            let mut of_pairs: BTreeMap<(String, String), u64> = BTreeMap::new();
            for ((caller, _, callee), calls) in found {
                *of_pairs.entry((caller, callee)).or_default() += calls;
            }
            assert_eq!(of_pairs, truth, "JDK {}", jdk.feature);
        });
    }
}

/// The paper's accuracy, over edges: Σ of the smaller share. A profile is all of itself; where one of two has no sites, they
/// do not count.
#[test]
fn overlap_is_over_edges() {
    on_every_jdk(|jdk| {
        let with_sites = Program::new("Foo").quipu(["--sites", "--deterministic"]).run(jdk);
        let without = Program::new("Foo").quipu(["--deterministic"]).run(jdk);
        let between = |a: &quipu_e2e::Run, b: &quipu_e2e::Run| {
            overlap(a.profile(), b.profile(), "calls", On::Edge, Matching::default())
                .expect("both have calls")
        };
        assert!((between(&with_sites, &with_sites) - 100.0).abs() < 1e-9);
        let crossed = between(&with_sites, &without);
        assert!(crossed > 99.0, "{crossed}");
        assert!((crossed - between(&without, &with_sites)).abs() < 1e-9);
    });
}
