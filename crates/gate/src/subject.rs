//! What a gate is about: totals of threads and of chosen methods, before and after.

use quipu_profile::{Aligned, By, significance};

use crate::pattern;
use crate::{GateError, Limit};

/// What a total is the total of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SubjectKind {
    /// A thread, or the threads that share a name pattern.
    Thread,
    /// A method and everything it called; for metrics without totals the method alone.
    Method,
    /// A test.
    Test,
}

impl SubjectKind {
    /// `thread`, `method` or `test`.
    pub fn as_str(self) -> &'static str {
        match self {
            SubjectKind::Thread => "thread",
            SubjectKind::Method => "method",
            SubjectKind::Test => "test",
        }
    }
}

/// What became of a total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Grew beyond the limit.
    Failed,
    /// Grew, within the limit.
    Grew,
    /// As before.
    Same,
    /// Less than before.
    Improved,
    /// Differs by no more than sampling does by chance.
    Chance,
    /// A test that is not in the baseline.
    New,
    /// A test that did not run.
    Gone,
    /// A test whose work is not the same each time.
    Unstable,
}

impl Outcome {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Failed => "failed",
            Outcome::Grew => "grew",
            Outcome::Same => "same",
            Outcome::Improved => "improved",
            Outcome::Chance => "chance",
            Outcome::New => "new",
            Outcome::Gone => "gone",
            Outcome::Unstable => "unstable",
        }
    }
}

/// One total before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Thread, method or test.
    pub kind: SubjectKind,
    /// Its name.
    pub name: String,
    /// In the baseline.
    pub before: u64,
    /// In the new profile.
    pub after: u64,
    /// What that means.
    pub outcome: Outcome,
    /// What else there is to say.
    pub note: Option<String>,
}

/// All threads of two profiles that are lined up.
pub(crate) fn threads(aligned: &Aligned, limit: &Limit) -> Vec<Subject> {
    let both = &aligned.both;
    let [before, after] = aligned.columns().map(|column| both.totals_by_thread(column));
    let judged = both.threads().iter().zip(before.into_iter().zip(after)).map(|(thread, (before, after))| {
        let name = both.str(thread.name).to_owned();
        judge(aligned, limit, SubjectKind::Thread, name, [before, after])
    });
    judged.collect()
}

/// The methods that each pattern selects, in the order of their names.
pub(crate) fn methods(
    aligned: &Aligned,
    limit: &Limit,
    patterns: &[String],
) -> Result<Vec<Subject>, GateError> {
    let both = &aligned.both;
    let keys = both.keys(By::Method);
    let mut selected = Vec::new();
    for pattern in patterns {
        let found = pattern::select(pattern, &keys.names);
        if found.is_empty() {
            return Err(GateError::unknown("method", pattern, keys.names.iter().map(String::as_str)));
        }
        selected.extend(found);
    }
    if selected.is_empty() {
        return Ok(Vec::new());
    }
    selected.sort_unstable();
    selected.dedup();
    let [before, after] = aligned.columns().map(|column| {
        let totals = both.totals_by_method(column);
        if aligned.has_totals() { totals.total } else { totals.own }
    });
    // Overloads have one name and are told apart by what they take.
    let name = |at: usize| match keys.names.iter().filter(|name| **name == keys.names[at]).count() {
        1 => keys.names[at].clone(),
        _ => format!("{}{}", keys.names[at], both.str(both.method(at as u32).descriptor)),
    };
    let judged = selected
        .iter()
        .map(|&at| judge(aligned, limit, SubjectKind::Method, name(at), [before[at], after[at]]));
    Ok(judged.collect())
}

fn judge(aligned: &Aligned, limit: &Limit, kind: SubjectKind, name: String, values: [u64; 2]) -> Subject {
    let [before, after] = values;
    let outcome = match () {
        () if before == after => Outcome::Same,
        () if !significance(&aligned.specs, before, after).significant => Outcome::Chance,
        () if after < before => Outcome::Improved,
        () if limit.exceeded(before, after) => Outcome::Failed,
        () => Outcome::Grew,
    };
    Subject { kind, name, before, after, outcome, note: None }
}
