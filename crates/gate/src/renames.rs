//! Methods that have another name in the new profile.
//!
//! Only methods that one profile has and the other has not can have been renamed. They are paired in rounds, the surest
//! first: in one class with the same signature and the same work; a signature that changed under a name that is
//! unique; in one class with as many calls and similar work; in another class with the same name or package and
//! exactly the same work. A wrong pair does no harm to the verdict, which totals decide, and culprits are named as
//! they are called now.

use std::collections::{BTreeMap, BTreeSet};

use quipu_profile::{MethodId, NodeId, Profile, class_origin, method_origin, package_of};

/// A method that has another name now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// `class.name` in the baseline.
    pub from: String,
    /// `class.name` in the new profile.
    pub to: String,
    /// Whether it does exactly what it did.
    pub same_work: bool,
}

/// Class, name and descriptor, the way two runs agree on them.
pub(crate) type Key = (String, String, String);

pub(crate) fn key_of(profile: &Profile, id: MethodId) -> Key {
    let method = profile.method(id);
    let class = class_origin(profile.str(method.class)).into_owned();
    (class, method_origin(profile.str(method.name)).to_owned(), profile.str(method.descriptor).to_owned())
}

/// What a method did: calls, its own work, and that of all it called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Work {
    calls: u64,
    own: u64,
    total: u64,
}

/// Methods of the baseline, by key, that go by another key in the new profile.
pub(crate) fn find(a: &Profile, b: &Profile, metric: &str) -> (BTreeMap<Key, Key>, Vec<Renamed>) {
    let keys = |profile: &Profile| -> BTreeSet<Key> {
        (0..profile.methods().len() as MethodId).map(|id| key_of(profile, id)).collect()
    };
    let (in_a, in_b) = (keys(a), keys(b));
    let mut gone = work(a, metric);
    gone.retain(|key, _| !in_b.contains(key));
    let mut come = work(b, metric);
    come.retain(|key, _| !in_a.contains(key));

    let mut pairs: Vec<(Key, Key, bool)> = Vec::new();
    type Round = fn((&Key, &Work), (&Key, &Work)) -> bool;
    let rounds: [Round; 4] = [
        |(x, v), (y, w)| x.0 == y.0 && x.2 == y.2 && v == w,
        |(x, _), (y, _)| x.0 == y.0 && x.1 == y.1,
        |(x, v), (y, w)| x.0 == y.0 && x.2 == y.2 && v.calls == w.calls && similar(v.total, w.total),
        |(x, v), (y, w)| {
            let near = x.1 == y.1 || package_of(&x.0) == package_of(&y.0);
            near && x.2 == y.2 && v == w && v.own > 0
        },
    ];
    for (number, fits) in rounds.into_iter().enumerate() {
        for from in gone.keys().cloned().collect::<Vec<_>>() {
            let before = gone[&from];
            let mut fitting = come.iter().filter(|(to, after)| fits((&from, &before), (to, after)));
            let Some((to, &after)) = fitting.next() else { continue };
            // A changed signature is only told by the name, so no overload may compete.
            let rivals = || gone.keys().filter(|other| other.0 == from.0 && other.1 == from.1).count();
            if number == 1 && (fitting.next().is_some() || rivals() > 1) {
                continue;
            }
            let to = to.clone();
            come.remove(&to);
            gone.remove(&from);
            pairs.push((from, to, before == after));
        }
    }
    pairs.sort();
    let show = |key: &Key| if key.0.is_empty() { key.1.clone() } else { format!("{}.{}", key.0, key.1) };
    let named = pairs.iter().filter(|(from, to, _)| show(from) != show(to));
    let renamed =
        named.map(|(from, to, same_work)| Renamed { from: show(from), to: show(to), same_work: *same_work });
    let renamed = renamed.collect();
    (pairs.into_iter().map(|(from, to, _)| (from, to)).collect(), renamed)
}

/// Within a factor of two of each other.
fn similar(a: u64, b: u64) -> bool {
    a.max(b) / 2 <= a.min(b)
}

/// Work by method, of methods that are in the tree.
fn work(profile: &Profile, metric: &str) -> BTreeMap<Key, Work> {
    let count = profile.methods().len();
    let (own, total) = match profile.metric(metric) {
        Some(metric) => {
            let totals = profile.totals_by_method(metric);
            (totals.own, totals.total)
        }
        None => (vec![0; count], vec![0; count]),
    };
    let calls = profile.metric("calls").map_or_else(|| vec![0; count], |m| profile.totals_by_method(m).own);
    let mut used = vec![false; count];
    for node in 0..profile.tree().len() as NodeId {
        if let Some(method) = profile.tree().method(node) {
            used[method as usize] = true;
        }
    }
    let mut all: BTreeMap<Key, Work> = BTreeMap::new();
    for id in (0..count).filter(|&id| used[id]) {
        let work = all.entry(key_of(profile, id as MethodId)).or_default();
        work.calls = work.calls.saturating_add(calls[id]);
        work.own = work.own.saturating_add(own[id]);
        work.total = work.total.saturating_add(total[id]);
    }
    all
}
