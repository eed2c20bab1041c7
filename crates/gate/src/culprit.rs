//! From terms of a sum to places a person can look at.

use std::collections::BTreeMap;

use quipu_profile::NodeId;

use crate::attribute::{Cause, Term};
use crate::number::narrow;
use crate::pair::Pair;
use crate::place::{Lines, Place};
use crate::renames::Key;

/// A method whose code does more (or less) than before, over all contexts it does so in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Culprit {
    /// Where it is.
    pub place: Place,
    /// What it adds to the totals, in the metric's unit.
    pub cost: i64,
    /// What of it the method does itself.
    pub own: i64,
    /// Whom it calls more or less often, largest cost first.
    pub calls: Vec<CallChange>,
    /// Thread of the context that costs most.
    pub thread: String,
    /// That context: `class.method` from the thread's root on, the culprit last.
    pub path: Vec<String>,
    /// In how many contexts it costs more or less.
    pub contexts: u64,
}

/// A callee that is called more or less often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallChange {
    /// `class.method`.
    pub callee: String,
    /// Calls more, beyond what the caller's own calls explain.
    pub times: i64,
    /// What they cost, with everything below.
    pub cost: i64,
    /// Not called there before.
    pub new: bool,
    /// No longer called there.
    pub gone: bool,
}

/// Work that is done by the same method, called from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// `class.method` that is called.
    pub callee: String,
    /// Who called it.
    pub from: String,
    /// Who calls it now.
    pub to: String,
    /// How much work it is.
    pub cost: i64,
}

/// Takes off what merely moved: the same method gone from one caller and new at another.
pub(crate) fn take_off_moves(pair: &Pair, terms: &mut Vec<Term>) -> Vec<Moved> {
    let mut by_callee: BTreeMap<Key, [Vec<usize>; 2]> = BTreeMap::new();
    for (index, term) in terms.iter().enumerate() {
        let (side, node) = match term.cause {
            Cause::Gone(node) => (0, node),
            Cause::New(node) => (1, node),
            Cause::Own | Cause::Calls(_) => continue,
        };
        if let Some(key) = pair.key(node) {
            by_callee.entry(key).or_default()[side].push(index);
        }
    }
    let mut moves: BTreeMap<(String, String, String), i128> = BTreeMap::new();
    for (callee, [gone, new]) in by_callee {
        let (mut gone, mut new) = (gone.into_iter().peekable(), new.into_iter().peekable());
        while let (Some(&from), Some(&to)) = (gone.peek(), new.peek()) {
            let cost = (-terms[from].cost).min(terms[to].cost);
            // Calls go in the proportion of the cost, so that what is left reads right.
            for (index, sign) in [(from, -1), (to, 1)] {
                let term = &mut terms[index];
                if term.cost != 0 {
                    term.calls -= term.calls * (sign * cost) / term.cost;
                }
                term.cost -= sign * cost;
            }
            let name = |index: usize| {
                pair.key(terms[index].at).map_or_else(|| thread_of(pair, terms[index].at), |key| show(&key))
            };
            let (from_name, to_name) = (name(from), name(to));
            if from_name != to_name && cost > 0 {
                *moves.entry((show(&callee), from_name, to_name)).or_default() += cost;
            }
            if terms[from].cost >= 0 {
                gone.next();
            }
            if terms[to].cost <= 0 {
                new.next();
            }
        }
    }
    terms.retain(|term| term.cost != 0);
    let moved = moves.into_iter();
    let mut moved: Vec<Moved> =
        moved.map(|((callee, from, to), cost)| Moved { callee, from, to, cost: narrow(cost) }).collect();
    moved.sort_by_key(|moved| std::cmp::Reverse(moved.cost));
    moved
}

/// One culprit for each method, largest cost first; those that cost less than before come last.
pub(crate) fn culprits(pair: &Pair, lines: &Lines<'_>, terms: &[Term]) -> Vec<Culprit> {
    let mut by_place: BTreeMap<(Option<Key>, Option<String>), Vec<&Term>> = BTreeMap::new();
    for term in terms {
        // What runs at the bottom of a thread has no caller: the thread is the place.
        let key = pair.key(term.at);
        let thread = key.is_none().then(|| thread_of(pair, term.at));
        by_place.entry((key, thread)).or_default().push(term);
    }
    let mut found: Vec<Culprit> = by_place
        .into_iter()
        .filter(|(_, terms)| terms.iter().map(|term| term.cost).sum::<i128>() != 0)
        .map(|((key, thread), terms)| culprit(pair, lines, key, thread, &terms))
        .collect();
    found.sort_by(|a, b| b.cost.cmp(&a.cost).then_with(|| a.path.cmp(&b.path)));
    found
}

fn culprit(
    pair: &Pair,
    lines: &Lines<'_>,
    key: Option<Key>,
    thread: Option<String>,
    terms: &[&Term],
) -> Culprit {
    let cost: i128 = terms.iter().map(|term| term.cost).sum();
    let own: i128 = terms.iter().filter(|term| term.cause == Cause::Own).map(|term| term.cost).sum();
    let mut by_callee: BTreeMap<Key, (i128, i128, [bool; 3])> = BTreeMap::new();
    for term in terms {
        let (node, kind) = match term.cause {
            Cause::Own => continue,
            Cause::Calls(node) => (node, 0),
            Cause::New(node) => (node, 1),
            Cause::Gone(node) => (node, 2),
        };
        let Some(callee) = pair.key(node) else { continue };
        let entry = by_callee.entry(callee).or_default();
        (entry.0, entry.1) = (entry.0 + term.cost, entry.1 + term.calls);
        entry.2[kind] = true;
    }
    // The call that costs most says which line it is, unless the method's own work says more.
    let heaviest =
        by_callee.iter().filter(|(_, entry)| entry.0 > own && entry.0 > 0).max_by_key(|(_, entry)| entry.0);
    let place = match &key {
        Some(key) => lines.place(key, heaviest.map(|(callee, _)| callee)),
        None => Place { method: format!("thread {}", thread.unwrap_or_default()), ..Place::default() },
    };
    let mut calls: Vec<CallChange> = by_callee
        .iter()
        .map(|(callee, (cost, times, kinds))| CallChange {
            callee: show(callee),
            times: narrow(*times),
            cost: narrow(*cost),
            new: *kinds == [false, true, false],
            gone: *kinds == [false, false, true],
        })
        .collect();
    calls.sort_by(|a, b| b.cost.abs().cmp(&a.cost.abs()).then_with(|| a.callee.cmp(&b.callee)));
    let mut by_context: BTreeMap<NodeId, i128> = BTreeMap::new();
    terms.iter().for_each(|term| *by_context.entry(term.at).or_default() += term.cost);
    by_context.retain(|_, cost| *cost != 0);
    let sign = cost.signum();
    let worst = by_context.iter().max_by_key(|(node, cost)| (sign * **cost, std::cmp::Reverse(**node)));
    let worst = worst.map_or(terms[0].at, |(&node, _)| node);
    Culprit {
        place,
        cost: narrow(cost),
        own: narrow(own),
        calls,
        thread: thread_of(pair, worst),
        path: path_of(pair, worst),
        contexts: by_context.len() as u64,
    }
}

fn thread_of(pair: &Pair, node: NodeId) -> String {
    let thread = &pair.tree.threads()[pair.tree.thread_of(node) as usize];
    pair.tree.str(thread.name).to_owned()
}

fn path_of(pair: &Pair, node: NodeId) -> Vec<String> {
    pair.tree.tree().path(node).into_iter().filter_map(|node| pair.key(node)).map(|key| show(&key)).collect()
}

fn show((class, name, _): &Key) -> String {
    if class.is_empty() { name.clone() } else { format!("{class}.{name}") }
}
