//! The question, and the answer.

use quipu_profile::{Aggregation, MethodId, MetricKind, NodeId, Profile};

use crate::attribute::{Cause, Term, attribute};
use crate::culprit::{self, Culprit, Moved};
use crate::pair::Pair;
use crate::place::Lines;
use crate::renames::Renamed;
use crate::subject::{self, Outcome, Subject, SubjectKind};
use crate::{GateError, Limit};

/// What is asked of a gate.
pub struct Question<'a> {
    /// The metric; the new profile's main one if none is named.
    pub metric: Option<String>,
    /// How much growth is accepted.
    pub limit: Limit,
    /// Threads by name, `*` for anything, instead of those of the application.
    pub thread: Option<String>,
    /// Methods to gate besides threads: whole names, parts of names, or patterns with `*`.
    pub methods: Vec<String>,
    /// Which threads are the application's.
    pub is_application: &'a dyn Fn(&str) -> bool,
}

/// What a gate found.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The metric's name.
    pub metric: String,
    /// True when the metric is an estimate, so that only what is more than chance counts.
    pub sampled: bool,
    /// The limit that was asked for.
    pub limit: Limit,
    /// Threads, then methods.
    pub subjects: Vec<Subject>,
    /// Where the new work is, most first. Empty when the gate holds.
    pub culprits: Vec<Culprit>,
    /// Where there is less work than before, most first.
    pub improvements: Vec<Culprit>,
    /// Methods that have another name.
    pub renamed: Vec<Renamed>,
    /// Work that has another caller.
    pub moved: Vec<Moved>,
    /// Sentences about tests that did more than their budget, which nobody else has failed.
    pub beyond_budget: Vec<String>,
}

impl Verdict {
    /// True when nothing grew beyond the limit, and no test is beyond its budget.
    pub fn passed(&self) -> bool {
        self.failed().next().is_none() && self.beyond_budget.is_empty()
    }

    /// What grew beyond the limit.
    pub fn failed(&self) -> impl Iterator<Item = &Subject> {
        self.subjects.iter().filter(|subject| subject.outcome == Outcome::Failed)
    }
}

/// Holds the new profile against the baseline. Whether they may be compared is for [`differences`](crate::differences) to say.
pub fn gate(baseline: &Profile, new: &Profile, question: &Question<'_>) -> Result<Verdict, GateError> {
    let metric = match &question.metric {
        Some(metric) => metric.clone(),
        None => new.main_metric().ok_or(GateError::NoMetrics)?.name().to_owned(),
    };
    let is_peak = |profile: &Profile| {
        profile.metric(&metric).is_some_and(|metric| metric.spec().aggregation == Aggregation::Max)
    };
    if is_peak(baseline) || is_peak(new) {
        return Err(GateError::Peak(metric));
    }
    let wanted = |name: &str| match &question.thread {
        Some(pattern) => quipu_text::glob(pattern, name),
        None => (question.is_application)(name),
    };
    let pair = Pair::new(baseline, new, &metric, &wanted)?;
    if pair.tree.threads().is_empty() {
        return Err(match &question.thread {
            Some(thread) => GateError::unknown("thread", thread, thread_names(&[baseline, new])),
            None => GateError::NoThreads,
        });
    }
    let mut subjects = subject::threads(&pair.aligned, &question.limit);
    subjects.extend(subject::methods(&pair.aligned, &question.limit, &question.methods)?);

    let mut verdict = Verdict {
        metric,
        sampled: pair.aligned.specs.iter().any(|spec| spec.kind != MetricKind::Exact),
        limit: question.limit,
        subjects,
        culprits: Vec::new(),
        improvements: Vec::new(),
        renamed: pair.renamed.clone(),
        moved: Vec::new(),
        beyond_budget: Vec::new(),
    };
    explain(&mut verdict, &pair, [baseline, new]);
    Ok(verdict)
}

fn thread_names<'a>(profiles: &[&'a Profile]) -> impl Iterator<Item = &'a str> {
    let names = profiles.iter().flat_map(|&profile| profile.threads().iter().map(|t| profile.str(t.name)));
    names.collect::<std::collections::BTreeSet<_>>().into_iter()
}

/// Finds culprits of what failed, and what got better.
fn explain(verdict: &mut Verdict, pair: &Pair, profiles: [&Profile; 2]) {
    let passed = verdict.passed();
    let mut terms = Vec::new();
    let failed_methods: Vec<String> =
        verdict.failed().filter(|s| s.kind == SubjectKind::Method).map(|s| s.name.clone()).collect();
    let inside = InMethods::new(pair, &failed_methods);
    for thread in pair.tree.threads() {
        let name = pair.tree.str(thread.name);
        let failed = verdict.failed().any(|s| s.kind == SubjectKind::Thread && s.name == name);
        let found = attribute(pair, thread.root);
        if failed || passed {
            terms.extend(found);
        } else {
            // A method failed: only what is in it, or leads to it.
            terms.extend(found.into_iter().filter(|term| inside.concerns(term)));
        }
    }
    if verdict.sampled {
        terms.retain(|term| is_real(pair, term));
    }
    verdict.moved = culprit::take_off_moves(pair, &mut terms);
    if terms.is_empty() {
        return;
    }
    let [a, b] = profiles;
    let lines = Lines::new(a, b, &pair.names);
    let (more, mut less): (Vec<_>, Vec<_>) =
        culprit::culprits(pair, &lines, &terms).into_iter().partition(|culprit| culprit.cost > 0);
    less.reverse();
    verdict.culprits = if passed { Vec::new() } else { more };
    verdict.improvements = less;
}

/// A sampled term must be more than chance.
fn is_real(pair: &Pair, term: &Term) -> bool {
    let (column, node) = match term.cause {
        Cause::Own => (&pair.own, term.at),
        Cause::Calls(node) | Cause::New(node) | Cause::Gone(node) => (&pair.total, node),
    };
    let [before, after] = [0, 1].map(|side| column[side][node as usize]);
    quipu_profile::significance(&pair.aligned.specs, before, after).significant
}

/// Which nodes belong to some methods, or lead to them.
struct InMethods {
    inside: Vec<bool>,
    leads: Vec<bool>,
}

impl InMethods {
    fn new(pair: &Pair, names: &[String]) -> InMethods {
        let tree = pair.tree.tree();
        let methods = 0..pair.tree.methods().len() as MethodId;
        let wanted: Vec<bool> = methods
            .map(|method| {
                let name = pair.tree.method_name(method);
                let full = format!("{name}{}", pair.tree.str(pair.tree.method(method).descriptor));
                names.iter().any(|wanted| *wanted == name || *wanted == full)
            })
            .collect();
        let (mut inside, mut leads) = (vec![false; tree.len()], vec![false; tree.len()]);
        let mut until = 0;
        for node in 0..tree.len() as NodeId {
            let mine = tree.method(node).is_some_and(|method| wanted[method as usize]);
            if mine {
                until = until.max(tree.end(node));
            }
            inside[node as usize] = node < until;
        }
        for node in (0..tree.len() as NodeId).rev() {
            if let Some(parent) = tree.parent(node).filter(|_| inside[node as usize] || leads[node as usize])
            {
                leads[parent as usize] = true;
            }
        }
        InMethods { inside, leads }
    }

    fn concerns(&self, term: &Term) -> bool {
        match term.cause {
            Cause::Own => self.inside[term.at as usize],
            Cause::Calls(node) | Cause::New(node) | Cause::Gone(node) => {
                self.inside[node as usize] || self.leads[node as usize]
            }
        }
    }
}
