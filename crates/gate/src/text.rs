//! The verdict for people at a terminal.

use crate::number::{change, grouped, percent_change, signed, times};
use crate::{CallChange, Culprit, Outcome, Subject, SubjectKind, Verdict};

/// Culprits, improvements, renames and moves shown of each; the rest is counted.
pub(crate) const SHOWN: usize = 5;
/// Callees named for one culprit.
const CALLEES: usize = 3;
/// Frames of a path that are shown; those in the middle are left out.
const FRAMES: usize = 6;

/// The verdict as text: what grew, and the places to look at.
pub fn text(verdict: &Verdict) -> String {
    let mut out = format!("{}\n\n", headline(verdict));
    let subjects = shown_subjects(verdict);
    if !subjects.is_empty() {
        out += &table(&subjects);
    }
    if let Some(sentence) = not_run(verdict) {
        out += if subjects.is_empty() { "" } else { "\n" };
        out += &format!("{sentence}\n");
    }
    verdict.beyond_budget.iter().for_each(|sentence| out += &format!("{sentence}\n"));
    if subjects.is_empty() {
        return out.trim_end().to_owned() + "\n";
    }
    if !verdict.culprits.is_empty() {
        out += "\nWhere the new work is:\n";
        for (at, culprit) in verdict.culprits.iter().take(SHOWN).enumerate() {
            out += &format!("{:>3}. {}\n", at + 1, line_of(culprit, &verdict.metric));
            out += &format!("     {}\n", reasons(culprit));
            out += &format!("     in {}\n", context(culprit));
        }
        out += &rest(verdict.culprits.len(), "smaller one");
    }
    if !verdict.improvements.is_empty() {
        out += "\nWhere there is less:\n";
        for culprit in verdict.improvements.iter().take(SHOWN) {
            out += &format!("     {}: {}\n", line_of(culprit, &verdict.metric), reasons(culprit));
        }
        out += &rest(verdict.improvements.len(), "smaller one");
    }
    let changes = harmless(verdict);
    if !changes.is_empty() {
        out += "\nThe same work elsewhere:\n";
        for change in changes.iter().take(SHOWN) {
            out += &format!("     {change}\n");
        }
        out += &rest(changes.len(), "more");
    }
    out
}

/// One sentence.
pub(crate) fn headline(verdict: &Verdict) -> String {
    let Verdict { metric, limit, .. } = verdict;
    let count = |outcome: Outcome| verdict.subjects.iter().filter(|s| s.outcome == outcome).count();
    let failed = verdict.failed().count();
    let (grew, improved) = (count(Outcome::Grew), count(Outcome::Improved));
    let is_of_tests = verdict.subjects.iter().any(|subject| subject.kind == SubjectKind::Test);
    if is_of_tests {
        let tests = grouped((verdict.subjects.len() - count(Outcome::Gone)) as u64);
        let some = |n: usize| format!("{metric} of {} of {tests} tests", grouped(n as u64));
        let (passed, budgets) = match verdict.beyond_budget.len() {
            0 => ("PASSED: ", String::new()),
            1 => ("FAILED: ", "1 test is beyond its budget; ".to_owned()),
            n => ("FAILED: ", format!("{n} tests are beyond their budgets; ")),
        };
        return match (failed, grew, improved) {
            (0, 0, 0) => format!("{passed}{budgets}{metric} of {tests} tests as in the baseline"),
            (0, 0, n) => format!("{passed}{budgets}{} shrank, none grew", some(n)),
            (0, n, _) => format!("{passed}{budgets}{} grew, within their limits", some(n)),
            (n, _, _) => format!("FAILED: {budgets}{} grew by more than {limit}", some(n)),
        };
    }
    match (failed, grew, improved) {
        (0, 0, 0) => format!("PASSED: {metric} as in the baseline"),
        (0, 0, _) => format!("PASSED: fewer {metric} than in the baseline"),
        (0, _, _) => format!("PASSED: {metric} grew by no more than {limit}"),
        _ => format!("FAILED: {metric} grew by more than {limit}"),
    }
}

/// What there is to say of tests that have no row.
pub(crate) fn not_run(verdict: &Verdict) -> Option<String> {
    let gone = verdict.subjects.iter().filter(|subject| subject.outcome == Outcome::Gone).count();
    match gone {
        0 => None,
        1 => Some("1 test of the baseline did not run".to_owned()),
        n => Some(format!("{} tests of the baseline did not run", grouped(n as u64))),
    }
}

/// All threads, and the methods and tests that changed.
pub(crate) fn shown_subjects(verdict: &Verdict) -> Vec<&Subject> {
    let changed = |subject: &Subject| subject.before != subject.after && subject.outcome != Outcome::Gone;
    let shown = |subject: &&Subject| subject.kind == SubjectKind::Thread || changed(subject);
    verdict.subjects.iter().filter(shown).collect()
}

/// Baseline, change and relative change of a subject: nothing where there is nothing to compare with.
pub(crate) fn compared(subject: &Subject) -> [String; 3] {
    let (before, after) = (subject.before, subject.after);
    match (subject.kind, subject.outcome) {
        (SubjectKind::Test, Outcome::New) => [String::new(), String::new(), String::new()],
        _ => [grouped(before), signed(change(before, after)), percent_change(before, after)],
    }
}

/// `thread main` or the method's name.
pub(crate) fn subject_name(subject: &Subject) -> String {
    match subject.kind {
        SubjectKind::Thread => format!("thread {}", printable(&subject.name)),
        SubjectKind::Method | SubjectKind::Test => printable(&subject.name),
    }
}

fn table(subjects: &[&Subject]) -> String {
    let rows: Vec<[String; 5]> = subjects
        .iter()
        .map(|subject| {
            let outcome = match subject.outcome {
                Outcome::Failed => "FAILED",
                Outcome::Chance => "by chance",
                other => other.as_str(),
            };
            let [before, change, relative] = compared(subject);
            let outcome = format!("{relative:>10}  {outcome}{}", remark(subject));
            [subject_name(subject), before, grouped(subject.after), change, outcome]
        })
        .collect();
    let header = ["", "baseline", "new", "change", ""].map(str::to_owned);
    let all = || std::iter::once(&header).chain(&rows);
    let width = |at: usize| all().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    let mut out = String::new();
    for [name, before, after, change, outcome] in all() {
        let [w0, w1, w2, w3] = widths;
        let line = format!("  {name:<w0$}  {before:>w1$}  {after:>w2$}  {change:>w3$}  {outcome}");
        out += line.trim_end();
        out.push('\n');
    }
    out
}

/// What else there is to say of a subject, behind a colon.
pub(crate) fn remark(subject: &Subject) -> String {
    subject.note.as_ref().map_or_else(String::new, |note| format!(": {}", printable(note)))
}

/// `+2,000 bytecodes  Demo.work (Demo.java:3)`.
pub(crate) fn line_of(culprit: &Culprit, metric: &str) -> String {
    let place = printable(&culprit.place.name());
    let source =
        culprit.place.source_line().map_or_else(String::new, |line| format!(" ({})", printable(&line)));
    format!("{} {metric}  {place}{source}", signed(culprit.cost))
}

/// What it does more of.
pub(crate) fn reasons(culprit: &Culprit) -> String {
    let mut reasons = Vec::new();
    if culprit.own != 0 {
        reasons.push(format!("its own work {}", signed(culprit.own)));
    }
    reasons.extend(culprit.calls.iter().take(CALLEES).map(call));
    if culprit.calls.len() > CALLEES {
        let rest = &culprit.calls[CALLEES..];
        let cost = rest.iter().fold(0i64, |sum, call| sum.saturating_add(call.cost));
        let callees = if rest.len() == 1 { "callee" } else { "callees" };
        reasons.push(format!("{} other {callees} ({})", rest.len(), signed(cost)));
    }
    reasons.join("; ")
}

fn call(change: &CallChange) -> String {
    let CallChange { callee, times: count, cost, new, gone } = change;
    let (callee, cost) = (printable(callee), signed(*cost));
    match (new, gone, count) {
        (true, _, 0) => format!("new: calls {callee} ({cost})"),
        (true, _, count) => format!("new: calls {callee} {} ({cost})", times(count.unsigned_abs())),
        (_, true, _) => format!("no longer calls {callee} ({cost})"),
        (_, _, 0) => format!("calls {callee} ({cost})"),
        (_, _, 1..) => format!("calls {callee} {} more ({cost})", times(count.unsigned_abs())),
        (_, _, _) => format!("calls {callee} {} less ({cost})", times(count.unsigned_abs())),
    }
}

/// The path to it, shortened in the middle.
pub(crate) fn context(culprit: &Culprit) -> String {
    let path = shortened(&culprit.path);
    let out = match (culprit.thread.as_str(), path.as_str()) {
        ("", _) => path,
        (thread, "") => format!("thread {}", printable(thread)),
        (thread, _) => format!("thread {} > {path}", printable(thread)),
    };
    match culprit.contexts {
        0 | 1 => out,
        2 => out + ", and 1 other context",
        contexts => out + &format!(", and {} other contexts", grouped(contexts - 1)),
    }
}

/// A path with the frames in its middle left out.
pub(crate) fn shortened(path: &[String]) -> String {
    let mut frames: Vec<String> = path.iter().map(|frame| printable(frame)).collect();
    if frames.len() > FRAMES {
        let left = frames.len() - FRAMES;
        frames.splice(2..2 + left, [format!("({left} more)")]);
    }
    frames.join(" > ")
}

/// Renames and moves, in words.
pub(crate) fn harmless(verdict: &Verdict) -> Vec<String> {
    let renamed = verdict.renamed.iter().map(|renamed| {
        let what = if renamed.same_work { "same work" } else { "its work changed" };
        format!("{} is now {}, {what}", printable(&renamed.from), printable(&renamed.to))
    });
    let moved = verdict.moved.iter().map(|moved| {
        format!(
            "{} is called by {} instead of {} ({})",
            printable(&moved.callee),
            printable(&moved.to),
            printable(&moved.from),
            grouped(moved.cost.unsigned_abs())
        )
    });
    renamed.chain(moved).collect()
}

fn rest(all: usize, what: &str) -> String {
    match all.saturating_sub(SHOWN) {
        0 => String::new(),
        1 => format!("     and 1 {what}\n"),
        n if what == "more" => format!("     and {n} more\n"),
        n => format!("     and {n} {what}s\n"),
    }
}

/// Names come from class files, which may hold anything; a terminal must not obey them.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
