//! The source line of a culprit: the best that the profiles know.

use std::collections::BTreeMap;

use quipu_profile::{MethodId, Profile};

use crate::renames::{Key, key_of};

/// A place in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Binary class name with dots.
    pub class: String,
    /// Method name; a thread's name when the culprit is what runs at its bottom.
    pub method: String,
    /// JVM descriptor.
    pub descriptor: String,
    /// Source file name.
    pub source: Option<String>,
    /// Line number.
    pub line: Option<u32>,
    /// Whether the line is the one that changed. Otherwise it is the method's first.
    pub line_is_exact: bool,
}

impl Place {
    /// `class.method`.
    pub fn name(&self) -> String {
        if self.class.is_empty() { self.method.clone() } else { format!("{}.{}", self.class, self.method) }
    }

    /// `File.java:12`, or as much of it as is known.
    pub fn source_line(&self) -> Option<String> {
        let source = self.source.as_ref()?;
        Some(self.line.map_or_else(|| source.clone(), |line| format!("{source}:{line}")))
    }
}

/// Finds lines in the original profiles.
pub(crate) struct Lines<'a> {
    profiles: [&'a Profile; 2],
    methods: [BTreeMap<Key, MethodId>; 2],
    /// Names of the new profile to those of the baseline.
    old_names: BTreeMap<Key, Key>,
    /// (caller, callee) to (bci, calls), by side.
    sites: [Sites; 2],
}

type Sites = BTreeMap<(MethodId, Key), Vec<(u32, u64)>>;

impl<'a> Lines<'a> {
    pub(crate) fn new(a: &'a Profile, b: &'a Profile, names: &BTreeMap<Key, Key>) -> Lines<'a> {
        let index = |profile: &Profile| {
            (0..profile.methods().len() as MethodId).map(|id| (key_of(profile, id), id)).collect()
        };
        Lines {
            profiles: [a, b],
            methods: [index(a), index(b)],
            old_names: names.iter().map(|(old, new)| (new.clone(), old.clone())).collect(),
            sites: [sites(a), sites(b)],
        }
    }

    /// The place of a method that changed, because of `callee` if one is named.
    pub(crate) fn place(&self, key: &Key, callee: Option<&Key>) -> Place {
        let (class, method, descriptor) = key.clone();
        let place = Place { class, method, descriptor, ..Place::default() };
        // A method that does not run any more is only in the baseline.
        let found = self.methods[1].get(key).map(|&id| (self.profiles[1], id));
        let old = self.methods[0].get(self.old_names.get(key).unwrap_or(key)).copied();
        let Some((profile, id)) = found.or(old.map(|id| (self.profiles[0], id))) else { return place };
        let method = profile.method(id);
        let source = Some(profile.str(method.source)).filter(|source| !source.is_empty()).map(str::to_owned);
        let exact = match (found, old) {
            (Some((_, new)), Some(old)) => self.by_site(old, new, callee).or_else(|| self.by_block(old, new)),
            _ => None,
        };
        let line = exact.or_else(|| method.lines.iter().map(|line| line.line).min());
        Place { source, line, line_is_exact: exact.is_some(), ..place }
    }

    /// The line of the call that was added or is made more often.
    fn by_site(&self, old: MethodId, new: MethodId, callee: Option<&Key>) -> Option<u32> {
        // A profile without sites does not say that there was no call.
        let callee = callee.filter(|_| self.profiles[0].has_sites())?;
        let after = self.sites[1].get(&(new, callee.clone()))?;
        let old_callee = self.old_names.get(callee).unwrap_or(callee);
        let none = Vec::new();
        let before = self.sites[0].get(&(old, old_callee.clone())).unwrap_or(&none);
        let calls = |sites: &[(u32, u64)]| sites.iter().map(|&(_, calls)| calls).collect::<Vec<_>>();
        let at = most_grown(&calls(before), &calls(after))?;
        self.profiles[1].method(new).line_at(after[at].0)
    }

    /// The line whose blocks ran more bytecodes than before.
    fn by_block(&self, old: MethodId, new: MethodId) -> Option<u32> {
        let by_line = |profile: &Profile, id: MethodId| {
            let method = profile.method(id);
            let mut lines: Vec<(u32, u64)> = Vec::new();
            for block in &method.blocks {
                let Some(line) = method.line_at(block.bci) else { continue };
                let work = block.count.saturating_mul(block.instructions.into());
                match lines.iter_mut().find(|(known, _)| *known == line) {
                    Some((_, sum)) => *sum = sum.saturating_add(work),
                    None => lines.push((line, work)),
                }
            }
            lines
        };
        let (before, after) = (by_line(self.profiles[0], old), by_line(self.profiles[1], new));
        if before.is_empty() {
            return None;
        }
        let work = |lines: &[(u32, u64)]| lines.iter().map(|&(_, work)| work).collect::<Vec<_>>();
        most_grown(&work(&before), &work(&after)).map(|at| after[at].0)
    }
}

fn sites(profile: &Profile) -> Sites {
    let tree = profile.tree();
    let Some(calls) = profile.metric("calls").filter(|_| profile.has_sites()) else { return Sites::new() };
    let mut found: BTreeMap<(MethodId, MethodId, u32), u64> = BTreeMap::new();
    for node in 0..tree.len() as u32 {
        let caller = tree.parent(node).and_then(|parent| tree.method(parent));
        if let (Some(caller), Some(callee), Some(site)) = (caller, tree.method(node), tree.site(node)) {
            let sum = found.entry((caller, callee, site)).or_default();
            *sum = sum.saturating_add(calls.values()[node as usize]);
        }
    }
    let mut sites = Sites::new();
    for ((caller, callee, site), calls) in found {
        sites.entry((caller, key_of(profile, callee))).or_default().push((site, calls));
    }
    sites.values_mut().for_each(|sites| sites.sort_unstable());
    sites
}

/// The index in `new` of the value that grew most, when values are lined up as a diff would: what is equal stays, what
/// is between is paired in order as far as it goes.
fn most_grown(old: &[u64], new: &[u64]) -> Option<usize> {
    let mut before: Vec<u64> = vec![0; new.len()];
    let (mut from_old, mut from_new) = (0, 0);
    let mut anchors = longest_common(old, new);
    anchors.push((old.len(), new.len()));
    for (at_old, at_new) in anchors {
        let (gap_old, gap_new) = (&old[from_old..at_old], &mut before[from_new..at_new]);
        if gap_old.len() == gap_new.len() {
            gap_new.copy_from_slice(gap_old);
        }
        if at_new < new.len() {
            before[at_new] = new[at_new];
        }
        (from_old, from_new) = (at_old + 1, at_new + 1);
    }
    let growth = |at: usize| new[at].saturating_sub(before[at]);
    let best = (0..new.len()).max_by_key(|&at| (growth(at), std::cmp::Reverse(at)))?;
    (growth(best) > 0).then_some(best)
}

/// Pairs of indices of a longest common subsequence. Methods have at most some thousand lines; of more, none.
fn longest_common(old: &[u64], new: &[u64]) -> Vec<(usize, usize)> {
    const MOST: usize = 4_000_000;
    let width = new.len() + 1;
    if (old.len() + 1).saturating_mul(width) > MOST {
        return Vec::new();
    }
    let mut lengths = vec![0u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            lengths[i * width + j] = if old[i] == new[j] {
                lengths[(i + 1) * width + j + 1] + 1
            } else {
                lengths[(i + 1) * width + j].max(lengths[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::most_grown;

    #[test]
    fn lines_are_lined_up_as_a_diff_would() {
        assert_eq!(most_grown(&[5, 100, 100, 7], &[5, 100, 40, 100, 7]), Some(2), "inserted");
        assert_eq!(most_grown(&[5, 100, 7], &[5, 110, 7]), Some(1), "grown");
        assert_eq!(most_grown(&[5, 100, 7], &[5, 7]), None, "removed");
        assert_eq!(most_grown(&[5, 100, 200, 7], &[5, 110, 220, 7]), Some(2), "a loop runs longer");
        assert_eq!(most_grown(&[], &[3]), Some(0));
        assert_eq!(most_grown(&[1], &[]), None);
    }
}
