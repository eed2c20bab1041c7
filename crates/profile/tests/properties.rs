//! What holds for all profiles, checked on generated ones against naive computations.

mod common;

use common::{Stack, build, check, class, expected, naive, stacks};
use proptest::prelude::*;
use quipu_profile::{By, Change, Contents, Matching, Names, On, Profile, diff, overlap};
use std::collections::{BTreeMap, BTreeSet};

fn is(wanted: u8) -> impl Fn(&Profile, u32) -> bool {
    move |profile, method| profile.str(profile.method(method).class) == class(wanted)
}

fn simple(stacks: &[Stack]) -> Profile {
    build(stacks, &[], true)
}

proptest! {
    #[test]
    fn bytes_do_not_depend_on_the_order_of_feeding(
        (given, shuffled) in stacks().prop_flat_map(|s| (Just(s.clone()), Just(s).prop_shuffle())),
        first in Just((0u8..10).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let a = build(&given, &[], true);
        let b = build(&shuffled, &first, false);
        check(&a);
        prop_assert_eq!(a.to_bytes(Contents::All), b.to_bytes(Contents::All));
        prop_assert_eq!(naive(&a), expected(&given, |path| Some(path.to_vec())));
    }

    #[test]
    fn merging_is_adding(a in stacks(), b in stacks(), c in stacks()) {
        let both: Vec<Stack> = a.iter().chain(&b).cloned().collect();
        let (pa, pb, pc) = (simple(&a), simple(&b), simple(&c));
        let merge = |parts: &[&Profile]| Profile::merge(parts).unwrap();
        let ab = merge(&[&pa, &pb]);
        check(&ab);
        prop_assert_eq!(&ab, &simple(&both));
        prop_assert_eq!(&ab, &merge(&[&pb, &pa]));
        prop_assert_eq!(merge(&[&ab, &pc]), merge(&[&pa, &merge(&[&pb, &pc])]));
        prop_assert_eq!(&merge(&[&pa]), &pa);
    }

    #[test]
    fn overlap_is_symmetric_bounded_and_full_with_itself(a in stacks(), b in stacks()) {
        let (pa, pb) = (simple(&a), simple(&b));
        let twice = Profile::merge(&[&pa, &pa]).unwrap();
        let matching = Matching::default();
        let mut by_key = Vec::new();
        for on in On::ALL {
            for metric in ["calls", "bytecodes"] {
                let of = |a: &Profile, b: &Profile| overlap(a, b, metric, on, matching).unwrap();
                prop_assert_eq!(of(&pa, &pa), 100.0);
                prop_assert_eq!(of(&pa, &twice), 100.0);
                prop_assert_eq!(of(&pa, &pb), of(&pb, &pa));
                prop_assert!((0.0..=100.0).contains(&of(&pa, &pb)));
            }
            by_key.push(overlap(&pa, &pb, "bytecodes", on, matching).unwrap());
        }
        // Coarser keys can only overlap more, as long as all weight has a key: roots have no method.
        if a.iter().chain(&b).all(|stack| !stack.frames.is_empty()) {
            let [context, _, method, class] = by_key[..] else { unreachable!() };
            prop_assert!(context <= method + 1e-9 && method <= class + 1e-9);
        }
    }

    #[test]
    fn totals_count_recursion_once(given in stacks()) {
        let p = simple(&given);
        let metric = p.metric("bytecodes").unwrap();
        for by in [By::Method, By::Class, By::Package] {
            let keys = p.keys(by);
            let totals = p.totals(metric, &keys.of_method, keys.names.len());
            let (mut own, mut total) = (BTreeMap::new(), BTreeMap::new());
            for stack in &given {
                let key = |id: u8| match by {
                    By::Method => format!("{}.{}", class(id), common::name(id)),
                    By::Package => quipu_profile::package_of(class(id)).to_owned(),
                    _ => class(id).to_owned(),
                };
                if let Some(&(last, _)) = stack.frames.last() {
                    *own.entry(key(last)).or_insert(0) += stack.bytecodes;
                }
                for key in stack.frames.iter().map(|&(id, _)| key(id)).collect::<BTreeSet<_>>() {
                    *total.entry(key).or_insert(0) += stack.bytecodes;
                }
            }
            for (at, name) in keys.names.iter().enumerate() {
                prop_assert_eq!(totals.own[at], own.get(name).copied().unwrap_or(0));
                prop_assert_eq!(totals.total[at], total.get(name).copied().unwrap_or(0));
            }
        }
    }

    #[test]
    fn edges_add_up_and_callers_share_the_total(given in stacks()) {
        let p = simple(&given);
        let metric = p.metric("bytecodes").unwrap();
        let graph = p.call_graph();
        let totals = p.totals_by_edge(&graph, metric);
        let deep: u64 = given.iter().filter(|s| s.frames.len() > 1).map(|s| s.bytecodes).sum();
        prop_assert_eq!(totals.own.iter().sum::<u64>(), deep);
        prop_assert!(totals.own.iter().zip(&totals.total).all(|(own, total)| own <= total));
        let by_method = p.totals_by_method(metric);
        for method in 0..p.methods().len() as u32 {
            let wings = p.butterfly(metric, |_, id| id == method);
            prop_assert_eq!(wings.own, by_method.own[method as usize]);
            prop_assert_eq!(wings.total, by_method.total[method as usize]);
            prop_assert_eq!(wings.callers.iter().map(|caller| caller.total).sum::<u64>(), wings.total);
            prop_assert!(wings.callees.iter().all(|callee| callee.total <= wings.total));
        }
    }

    #[test]
    fn inverting_turns_paths_around(given in stacks()) {
        let p = simple(&given);
        let turned = p.invert(None);
        check(&turned);
        let reversed = |path: &[(u8, i8)]| Some(path.iter().rev().map(|&(id, _)| (id, -1)).collect());
        prop_assert_eq!(naive(&turned), expected(&given, reversed));
        let cut = p.invert(Some(2));
        let short = |path: &[(u8, i8)]| Some(path.iter().rev().take(2).map(|&(id, _)| (id, -1)).collect());
        prop_assert_eq!(naive(&cut), expected(&given, short));
    }

    #[test]
    fn frames_can_be_hidden_focused_on_and_cut_to(given in stacks(), wanted in 0u8..4) {
        let p = simple(&given);
        let hit = |id: u8| class(id) == class(wanted);
        let focus = p.focus(is(wanted));
        check(&focus);
        let passes = |path: &[(u8, i8)]| path.iter().any(|f| hit(f.0)).then(|| path.to_vec());
        prop_assert_eq!(naive(&focus), expected(&given, passes));

        let without = |path: &[(u8, i8)], drop: &dyn Fn(u8) -> bool| {
            let kept = path.iter().enumerate().filter(|(_, f)| !drop(f.0));
            kept.map(|(at, f)| if at > 0 && drop(path[at - 1].0) { (f.0, -1) } else { *f }).collect::<Vec<_>>()
        };
        let hidden = p.hide(is(wanted));
        check(&hidden);
        prop_assert_eq!(naive(&hidden), expected(&given, |path| Some(without(path, &hit))));

        let only = p.only(is(wanted));
        check(&only);
        let inside = |path: &[(u8, i8)]| Some(without(path, &|id| !hit(id))).filter(|kept| !kept.is_empty());
        prop_assert_eq!(naive(&only), expected(&given, inside));

        let rooted = p.root_at(is(wanted));
        check(&rooted);
        let below = |path: &[(u8, i8)]| {
            let from = path.iter().position(|f| hit(f.0))?;
            let mut rest = path[from..].to_vec();
            rest[0].1 = -1;
            Some(rest)
        };
        prop_assert_eq!(naive(&rooted), expected(&given, below));
    }

    #[test]
    fn collapsed_paths_have_each_method_once(given in stacks()) {
        let p = simple(&given);
        let collapsed = p.collapse_recursion();
        check(&collapsed);
        for node in 0..collapsed.tree().len() as u32 {
            let path = collapsed.tree().path(node);
            let methods: BTreeSet<_> = path.iter().map(|&n| collapsed.tree().method(n)).collect();
            prop_assert_eq!(methods.len(), path.len());
        }
        for metric in ["calls", "bytecodes"] {
            let (before, after) = (p.metric(metric).unwrap(), collapsed.metric(metric).unwrap());
            prop_assert_eq!(before.total(), after.total());
            // A recursive frame may close others between it and its twin: totals may shrink there, never grow.
            let (b, a) = (p.totals_by_method(before), collapsed.totals_by_method(after));
            prop_assert_eq!(&b.own, &a.own);
            prop_assert!(b.total.iter().zip(&a.total).all(|(b, a)| a <= b));
        }
        prop_assert_eq!(collapsed.collapse_recursion(), collapsed);
    }

    #[test]
    fn threads_cut_apart_make_the_whole(given in stacks()) {
        let p = simple(&given);
        let parts: Vec<Profile> = ["t0", "t1", "t2"].iter().map(|name| p.select_thread(name)).collect();
        parts.iter().for_each(check);
        let whole = Profile::merge(&parts.iter().collect::<Vec<_>>()).unwrap();
        prop_assert_eq!(naive(&whole), naive(&p));
        let one = p.merge_threads();
        prop_assert_eq!(one.metric("bytecodes").unwrap().total(), p.metric("bytecodes").unwrap().total());
        check(&p.without_empty());
        prop_assert_eq!(naive(&p.without_empty()), naive(&p));
        check(&p.with_origin_names());
    }

    #[test]
    fn diffs_turn_around_and_find_nothing_in_equal_profiles(a in stacks(), b in stacks()) {
        let (pa, pb) = (simple(&a), simple(&b));
        let matching = Matching { names: Names::Exact, threads: false };
        let same = diff(&pa, &pa, "bytecodes", By::Method, matching).unwrap();
        prop_assert!(same.is_same() && same.contexts().is_empty());
        let there = diff(&pa, &pb, "bytecodes", By::Method, matching).unwrap();
        let back = diff(&pb, &pa, "bytecodes", By::Method, matching).unwrap();
        prop_assert_eq!(there.rows.len(), back.rows.len());
        for (row, mirrored) in there.rows.iter().zip(&back.rows) {
            prop_assert_eq!((row.key, row.own, row.total), (mirrored.key, [mirrored.own[1], mirrored.own[0]], [mirrored.total[1], mirrored.total[0]]));
            let turned = match mirrored.change {
                Change::Heavier => Change::Lighter,
                Change::Lighter => Change::Heavier,
                Change::Appeared => Change::Vanished,
                Change::Vanished => Change::Appeared,
                other => other,
            };
            prop_assert_eq!(row.change, turned);
        }
        let delta: i128 = there.rows.iter().map(|row| i128::from(row.own[1]) - i128::from(row.own[0])).sum();
        let rootless = |stacks: &[Stack]| stacks.iter().filter(|s| !s.frames.is_empty()).map(|s| i128::from(s.bytecodes)).sum::<i128>();
        prop_assert_eq!(delta, rootless(&b) - rootless(&a));
        prop_assert_eq!(there.moved.iter().map(|m| m.weight).collect::<Vec<_>>(), back.moved.iter().map(|m| m.weight).collect::<Vec<_>>());
    }
}
