//! Growth is divided up without remainder, whatever the trees.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod common;

use common::{profile, strict};
use proptest::prelude::*;

/// Contexts over a few methods, with counts; the first one is always there.
fn rows() -> impl Strategy<Value = Vec<(String, u64, u64)>> {
    let path = prop::collection::vec(0usize..5, 0..5);
    let row = (path, 1u64..50, 0u64..10_000);
    prop::collection::vec(row, 1..20).prop_map(|rows| {
        let name = |path: &[usize]| {
            let frames = path.iter().map(|n| format!("/a.C.{}", ["m", "mm", "mmm", "mmmm", "mmmmm"][*n]));
            format!("a.Main.main{}", frames.collect::<String>())
        };
        rows.into_iter().map(|(path, calls, own)| (name(&path), calls, own)).collect()
    })
}

fn build(rows: &[(String, u64, u64)]) -> quipu_profile::Profile {
    let mut all: Vec<(&str, u64, u64)> = vec![("a.Main.main", 1, 1)];
    all.extend(rows.iter().map(|(path, calls, own)| (path.as_str(), *calls, *own)));
    profile(&all)
}

proptest! {
    #[test]
    fn culprits_and_improvements_add_up_to_the_growth(a in rows(), b in rows()) {
        let verdict = strict(&build(&a), &build(&b));
        let subject = &verdict.subjects[0];
        let growth = subject.after as i64 - subject.before as i64;
        prop_assert_eq!(verdict.passed(), growth <= 0);
        if !verdict.passed() {
            let sum: i64 = verdict.culprits.iter().chain(&verdict.improvements).map(|culprit| culprit.cost).sum();
            // A term is rounded at most a few times.
            prop_assert!((sum - growth).abs() <= 200, "{sum} and {growth}");
            prop_assert!(!verdict.culprits.is_empty());
        }
        for culprit in &verdict.culprits {
            prop_assert!(culprit.cost > 0);
            let parts: i64 = culprit.calls.iter().map(|call| call.cost).sum();
            prop_assert_eq!(culprit.own + parts, culprit.cost);
        }
    }

    #[test]
    fn growth_planted_in_one_context_is_found_there(rows in rows(), at in any::<prop::sample::Index>(), more in 1u64..1000) {
        let mut grown = rows.clone();
        let at = at.index(grown.len());
        grown[at].2 += more;
        let verdict = strict(&build(&rows), &build(&grown));
        prop_assert_eq!(verdict.culprits.len(), 1);
        let culprit = &verdict.culprits[0];
        let method = grown[at].0.rsplit('/').next().unwrap();
        prop_assert_eq!(culprit.place.name(), method);
        prop_assert_eq!((culprit.cost, culprit.own), (more as i64, more as i64));
    }

    #[test]
    fn a_profile_holds_against_itself(rows in rows()) {
        let verdict = strict(&build(&rows), &build(&rows));
        prop_assert!(verdict.passed() && verdict.improvements.is_empty() && verdict.moved.is_empty());
    }
}
