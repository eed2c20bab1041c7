//! What changed between two profiles.

use crate::align::{Aligned, Matching, NoSuchMetric};
use crate::significance::{Significance, significance};
use crate::{By, MethodId, NO_METHOD, NodeId, Profile};

/// What became of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// More than before.
    Heavier,
    /// Less than before.
    Lighter,
    /// Not there before.
    Appeared,
    /// No longer there.
    Vanished,
    /// As much as before, but called from elsewhere.
    Moved,
    /// As before.
    Same,
}

impl Change {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Change::Heavier => "heavier",
            Change::Lighter => "lighter",
            Change::Appeared => "appeared",
            Change::Vanished => "vanished",
            Change::Moved => "moved",
            Change::Same => "same",
        }
    }
}

/// One key (method, class, package or module) before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct DiffRow {
    /// Index into [`Diff::names`]; the method id of [`Aligned::both`] for [`By::Method`].
    pub key: u32,
    /// What became of it, judged by self values.
    pub change: Change,
    /// Self value before and after.
    pub own: [u64; 2],
    /// Inclusive value before and after.
    pub total: [u64; 2],
    /// Whether the change of the self value is more than chance.
    pub significance: Significance,
}

/// A method whose weight went from one caller to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The method, in [`Aligned::both`].
    pub method: MethodId,
    /// Caller that lost most; [`NO_METHOD`] for a thread's root.
    pub from: MethodId,
    /// Caller that gained most.
    pub to: MethodId,
    /// How much weight changed callers, growth and shrinking left out.
    pub weight: u64,
}

/// A calling context before and after.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContextRow {
    /// The node in [`Aligned::both`].
    pub node: NodeId,
    /// What became of it.
    pub change: Change,
    /// Self value before and after.
    pub own: [u64; 2],
    /// Inclusive value before and after.
    pub total: [u64; 2],
    /// Whether the change of the self value is more than chance.
    pub significance: Significance,
}

/// Everything that changed, in one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Diff {
    /// Both profiles in one tree.
    pub aligned: Aligned,
    /// What rows are about.
    pub by: By,
    /// Names of the keys.
    pub names: Vec<String>,
    /// Keys with any weight, largest change of the self value first.
    pub rows: Vec<DiffRow>,
    /// Methods that moved, most weight first.
    pub moved: Vec<Moved>,
    /// The metric's sum before and after.
    pub sums: [u64; 2],
}

/// Compares two profiles.
pub fn diff(
    a: &Profile,
    b: &Profile,
    metric: &str,
    by: By,
    matching: Matching,
) -> Result<Diff, NoSuchMetric> {
    let aligned = Aligned::new(a, b, metric, matching)?;
    let both = &aligned.both;
    let keys = both.keys(by);
    let [first, second] =
        aligned.columns().map(|column| both.totals(column, &keys.of_method, keys.names.len()));
    let sums = aligned.columns().map(|column| column.total());
    let moved = moved(&aligned);
    let mut rows: Vec<DiffRow> = (0..keys.names.len())
        .map(|key| {
            let own = [first.own[key], second.own[key]];
            let total = [first.total[key], second.total[key]];
            let (change, significance) = judge(&aligned, own, total);
            DiffRow { key: key as u32, change, own, total, significance }
        })
        .filter(|row| row.total != [0, 0] || row.own != [0, 0])
        .collect();
    if by == By::Method {
        for found in &moved {
            if let Ok(at) = rows.binary_search_by_key(&found.method, |row| row.key)
                && rows[at].change == Change::Same
            {
                rows[at].change = Change::Moved;
            }
        }
    }
    rows.sort_by_key(|row| (std::cmp::Reverse(row.own[0].abs_diff(row.own[1])), row.key));
    Ok(Diff { by, names: keys.names, rows, moved, sums, aligned })
}

impl Diff {
    /// True when nothing changed but by chance.
    pub fn is_same(&self) -> bool {
        self.moved.is_empty() && self.rows.iter().all(|row| row.change == Change::Same)
    }

    /// Contexts whose own weight changed, largest change first. A subtree that appeared or vanished is one row: its top.
    pub fn contexts(&self) -> Vec<ContextRow> {
        let both = &self.aligned.both;
        let [a, b] = self.aligned.columns();
        let [all_a, all_b] = [both.inclusive(a), both.inclusive(b)];
        let mut rows = Vec::new();
        let mut until = 0;
        for node in 0..both.tree.len() {
            if (node as NodeId) < until || both.tree.method[node] == NO_METHOD {
                continue;
            }
            let (own, total) = ([a.values[node], b.values[node]], [all_a[node], all_b[node]]);
            let (change, significance) = judge(&self.aligned, own, total);
            if matches!(change, Change::Appeared | Change::Vanished) && (total[0] == 0) != (total[1] == 0) {
                until = both.tree.end[node];
            }
            if change != Change::Same {
                rows.push(ContextRow { node: node as NodeId, change, own, total, significance });
            }
        }
        let size = |row: &ContextRow| match row.change {
            Change::Appeared | Change::Vanished => row.total[0].abs_diff(row.total[1]),
            _ => row.own[0].abs_diff(row.own[1]),
        };
        rows.sort_by_key(|row| (std::cmp::Reverse(size(row)), row.node));
        rows
    }
}

/// A key is there when it or anything below it has weight; what changed is its own weight.
fn judge(aligned: &Aligned, own: [u64; 2], total: [u64; 2]) -> (Change, Significance) {
    let there = [0, 1].map(|side| own[side] != 0 || total[side] != 0);
    let judged = match there {
        [true, true] => own,
        _ => total,
    };
    let found = significance(&aligned.specs, judged[0], judged[1]);
    let change = match there {
        _ if !found.significant => Change::Same,
        [false, _] => Change::Appeared,
        [_, false] => Change::Vanished,
        _ if own[1] > own[0] => Change::Heavier,
        _ => Change::Lighter,
    };
    (change, found)
}

/// Weight that changed callers: for each method, (Σ over callers of |change| − |change of the sum|) / 2.
fn moved(aligned: &Aligned) -> Vec<Moved> {
    let both = &aligned.both;
    let tree = &both.tree;
    let [a, b] = aligned.columns();
    // (callee, caller) with the callee's own weight; sites play no part: a call that moved within a method stayed.
    let mut entries: Vec<(MethodId, MethodId, u64, u64)> = (0..tree.len())
        .filter(|&node| tree.method[node] != NO_METHOD && (a.values[node] | b.values[node]) != 0)
        .map(|node| {
            (tree.method[node], tree.method[tree.parent[node] as usize], a.values[node], b.values[node])
        })
        .collect();
    entries.sort_unstable();
    let mut rows = Vec::new();
    for callee in entries.chunk_by(|x, y| x.0 == y.0) {
        let (mut sums, mut shifted) = ([0u128; 2], 0u128);
        let (mut from, mut to) = ((0, NO_METHOD), (0, NO_METHOD));
        for caller in callee.chunk_by(|x, y| x.1 == y.1) {
            let before: u128 = caller.iter().map(|entry| u128::from(entry.2)).sum();
            let after: u128 = caller.iter().map(|entry| u128::from(entry.3)).sum();
            (sums[0], sums[1]) = (sums[0] + before, sums[1] + after);
            shifted += before.abs_diff(after);
            if before.saturating_sub(after) > from.0 {
                from = (before - after, caller[0].1);
            }
            if after.saturating_sub(before) > to.0 {
                to = (after - before, caller[0].1);
            }
        }
        let weight = u64::try_from((shifted - sums[0].abs_diff(sums[1])) / 2).unwrap_or(u64::MAX);
        // Chance moves samples between callers too: what moved must stand out from the error of the sum.
        let sum = |side: usize| u64::try_from(sums[side]).unwrap_or(u64::MAX);
        let real = !aligned.sampled()
            || significance(&aligned.specs, sum(0), sum(0).saturating_add(weight)).significant;
        if weight > 0 && real {
            rows.push(Moved { method: callee[0].0, from: from.1, to: to.1, weight });
        }
    }
    rows.sort_by_key(|row| (std::cmp::Reverse(row.weight), row.method));
    rows
}
