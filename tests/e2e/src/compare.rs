//! A profile against the truth.

use std::collections::{BTreeMap, BTreeSet};

use quipu_profile::Profile;

use crate::oracle::{Kind, Path, Truth};
use crate::{Counts, ThreadCounts};

/// How a profile differs from the truth.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Contexts of methods that are counted whose counts differ: path, truth, profile.
    pub wrong: Vec<(Path, Counts, Counts)>,
    /// Leaves that were counted less often than instructions name them, or more often than they were called.
    pub wrong_leaves: Vec<(Path, Truth, u64)>,
    /// Calls of leaves that are not in the profile, by leaf and reason. Explained, not wrong.
    pub missing_leaves: BTreeMap<(String, &'static str), u64>,
    /// Contexts that agree.
    pub right: usize,
    /// Bytecodes and calls in the truth.
    pub total: Counts,
}

/// Called where the receiver's class decides, so the caller cannot know that it will be a leaf.
pub const BY_RECEIVER: &str = "called through the receiver's class";
/// Called by the VM, by native code, or by a method that has no context.
pub const FROM_OUTSIDE: &str = "called by native code, the VM or a method without a context";
/// The interpreter has code of its own for it and reports no call.
pub const UNREPORTED: &str = "run by the interpreter without a frame, which the truth cannot see";

/// Something else was called, that overrides it and has no context; the caller cannot tell the difference.
pub const MISTAKEN: &str = "counted for an override that has no context";

/// Calls, in the context of a leaf's caller, of methods without a context that have the leaf's name and descriptor.
fn mistakable(truth: &BTreeMap<Path, Truth>, leaf: &Path) -> u64 {
    let Some((name, caller)) = leaf.split_last() else { return 0 };
    let member = |name: &str| {
        let end = name.find('(').unwrap_or(name.len());
        name[name[..end].rfind('.').unwrap_or(0)..].to_owned()
    };
    let below = truth.range(caller.to_vec()..).take_while(|(path, _)| path.starts_with(caller));
    let siblings = below.filter(|(path, truth)| path.len() == leaf.len() && truth.kind == Kind::Transparent);
    siblings
        .filter(|(path, _)| path.last().is_some_and(|sibling| member(sibling) == member(name)))
        .map(|(_, truth)| truth.by_receiver)
        .sum()
}

/// Compares one thread's tree.
pub fn compare(truth: &BTreeMap<Path, Truth>, thread: &ThreadCounts<'_>) -> Comparison {
    let mut comparison = Comparison::default();
    let mut profile: BTreeMap<Path, (Counts, bool)> = BTreeMap::new();
    for node in thread.nodes() {
        let entry = profile.entry(thread.full_path_of(node)).or_default();
        entry.0 += thread.counts(node);
        entry.1 = thread.is_opaque(node);
    }
    let paths: BTreeSet<&Path> = truth.keys().chain(profile.keys()).collect();
    for path in paths {
        let (expected, found) = (truth.get(path).copied(), profile.get(path).copied());
        let counts = found.map(|found| found.0).unwrap_or_default();
        match expected {
            Some(expected) if expected.kind == Kind::Opaque => {
                comparison.leaf(path, expected, counts.calls, mistakable(truth, path));
            }
            Some(expected) if expected.kind == Kind::Transparent && found.is_none() => {}
            // The interpreter shows no call of some intrinsics, but every call of a native method.
            None if found.is_some_and(|(_, opaque)| opaque) => {
                let reason = if mistakable(truth, path) >= counts.calls { MISTAKEN } else { UNREPORTED };
                let leaf = path.last().cloned().unwrap_or_default();
                *comparison.missing_leaves.entry((leaf, reason)).or_default() += counts.calls;
            }
            _ => {
                let expected = expected.unwrap_or_default().counts;
                comparison.total += expected;
                if expected == counts {
                    comparison.right += 1;
                } else {
                    comparison.wrong.push((path.clone(), expected, counts));
                }
            }
        }
    }
    comparison
}

/// Contexts that two profiles count differently, in words.
pub fn differences(a: &Profile, b: &Profile) -> Vec<String> {
    let contexts = |profile: &Profile| {
        let mut all: BTreeMap<Path, Counts> = BTreeMap::new();
        for thread in profile.threads() {
            let name = profile.str(thread.name).to_owned();
            let tree = ThreadCounts::of(profile, |found| found == name);
            for node in tree.nodes() {
                let mut path = vec![name.clone()];
                path.extend(tree.full_path_of(node));
                *all.entry(path).or_default() += tree.counts(node);
            }
        }
        all
    };
    let (a, b) = (contexts(a), contexts(b));
    let paths: BTreeSet<&Path> = a.keys().chain(b.keys()).collect();
    let differing = paths.into_iter().filter(|path| a.get(*path) != b.get(*path));
    differing
        .map(|path| format!("{:?} and {:?}:\n    {}", a.get(path), b.get(path), path.join("\n    ")))
        .collect()
}

/// The first contexts that two profiles have different numbers of samples in, in words.
pub fn sample_differences(a: &Profile, b: &Profile) -> Vec<String> {
    let samples = |profile: &Profile| {
        let mut all = BTreeMap::new();
        for thread in profile.threads() {
            let name = profile.str(thread.name).to_owned();
            let tree = ThreadCounts::of(profile, |found| found == name);
            for node in tree.nodes() {
                all.insert((name.clone(), tree.full_path_of(node)), tree.samples(node));
            }
        }
        all
    };
    let (a, b) = (samples(a), samples(b));
    let paths: BTreeSet<_> = a.keys().chain(b.keys()).collect();
    let differing = paths.into_iter().filter(|path| a.get(*path) != b.get(*path));
    differing.take(8).map(|path| format!("{:?} and {:?}: {path:?}", a.get(path), b.get(path))).collect()
}

impl Comparison {
    fn leaf(&mut self, path: &Path, expected: Truth, calls: u64, mistakable: u64) {
        let Truth { counts: Counts { calls: all, .. }, direct, by_receiver, .. } = expected;
        let called = direct + by_receiver;
        if calls < direct || calls > called + mistakable {
            self.wrong_leaves.push((path.clone(), expected, calls));
            return;
        }
        self.right += 1;
        let leaf = path.last().cloned().unwrap_or_default();
        for (reason, n) in [
            (BY_RECEIVER, called.saturating_sub(calls)),
            (MISTAKEN, calls.saturating_sub(called)),
            (FROM_OUTSIDE, all - called),
        ] {
            if n > 0 {
                *self.missing_leaves.entry((leaf.clone(), reason)).or_default() += n;
            }
        }
    }

    /// Whether every context agrees.
    pub fn agrees(&self) -> bool {
        self.wrong.is_empty() && self.wrong_leaves.is_empty()
    }

    /// The differences, the first of each kind in full.
    pub fn describe(&self) -> String {
        const SHOWN: usize = 12;
        let mut text = format!(
            "{} contexts agree, {} do not, {} leaves are wrong\n",
            self.right,
            self.wrong.len(),
            self.wrong_leaves.len()
        );
        for (path, truth, profile) in self.wrong.iter().take(SHOWN) {
            text += &format!("  truth {truth:?}, profile {profile:?}:\n    {}\n", path.join("\n    "));
        }
        for (path, truth, calls) in self.wrong_leaves.iter().take(SHOWN) {
            text += &format!("  leaf: {truth:?}, profile {calls}:\n    {}\n", path.join("\n    "));
        }
        text
    }

    /// Calls of leaves that are not in the profile, by reason.
    pub fn describe_missing_leaves(&self) -> String {
        let mut by_reason: BTreeMap<&str, Vec<(&str, u64)>> = BTreeMap::new();
        for ((leaf, reason), &n) in &self.missing_leaves {
            by_reason.entry(reason).or_default().push((leaf, n));
        }
        let mut text = String::new();
        for (reason, mut leaves) in by_reason {
            leaves.sort_by_key(|&(leaf, n)| (std::cmp::Reverse(n), leaf));
            let total: u64 = leaves.iter().map(|(_, n)| n).sum();
            text += &format!("  {total} calls of {} opaque methods {reason}\n", leaves.len());
            for (leaf, n) in leaves.iter().take(8) {
                text += &format!("    {n:>9} {leaf}\n");
            }
        }
        text
    }
}
