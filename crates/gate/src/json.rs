//! The verdict for programs. `docs/gate.md` describes the fields; they only ever get more.

use serde_json::{Value, json};

use crate::number::{change, relative};
use crate::{Culprit, Verdict};

/// The verdict as one JSON object, with a line end.
pub fn json(verdict: &Verdict) -> String {
    let subjects = verdict.subjects.iter().map(|subject| {
        json!({
            "kind": subject.kind.as_str(),
            "name": subject.name,
            "before": subject.before,
            "after": subject.after,
            "change": change(subject.before, subject.after),
            "relative": relative(subject.before, subject.after),
            "outcome": subject.outcome.as_str(),
            "note": subject.note,
        })
    });
    let renamed = verdict
        .renamed
        .iter()
        .map(|renamed| json!({ "from": renamed.from, "to": renamed.to, "same_work": renamed.same_work }));
    let moved = verdict.moved.iter().map(
        |moved| json!({ "callee": moved.callee, "from": moved.from, "to": moved.to, "cost": moved.cost }),
    );
    let value = json!({
        "passed": verdict.passed(),
        "metric": verdict.metric,
        "sampled": verdict.sampled,
        "limit": {
            "relative": verdict.limit.relative.map(|share| share.as_f64()),
            "absolute": verdict.limit.absolute,
        },
        "subjects": subjects.collect::<Vec<_>>(),
        "culprits": verdict.culprits.iter().map(culprit).collect::<Vec<_>>(),
        "improvements": verdict.improvements.iter().map(culprit).collect::<Vec<_>>(),
        "renamed": renamed.collect::<Vec<_>>(),
        "moved": moved.collect::<Vec<_>>(),
        "beyond_budget": verdict.beyond_budget,
    });
    format!("{value:#}\n")
}

fn culprit(culprit: &Culprit) -> Value {
    let place = &culprit.place;
    let calls = culprit.calls.iter().map(|call| {
        json!({
            "callee": call.callee,
            "times": call.times,
            "cost": call.cost,
            "new": call.new,
            "gone": call.gone,
        })
    });
    json!({
        "class": place.class,
        "method": place.method,
        "descriptor": place.descriptor,
        "source": place.source,
        "line": place.line,
        "line_is_exact": place.line_is_exact,
        "cost": culprit.cost,
        "own": culprit.own,
        "calls": calls.collect::<Vec<_>>(),
        "thread": culprit.thread,
        "path": culprit.path,
        "contexts": culprit.contexts,
    })
}
