//! What grows: classes whose objects, made in one context, took more after each collection than after the one before.

use crate::json::Report;
use crate::number::{grouped, in_unit};
use crate::style::Style;
use crate::table::printable;
use crate::{Options, ReportError, pattern};
use quipu_profile::{Event, MethodId, NodeId, Profile, Unit};
use std::fmt::Write as _;
use std::io;

/// The event that has what objects took after one collection and another.
pub(crate) const GROWTH: &str = "live.growth";

const LIMIT: usize = 10;
/// Moments at which there must have been something before it is suspected: what is there for the first time has not grown yet.
const LEAST: usize = 4;
/// A step down by less than this share of the whole does not speak against a leak: some of what leaks is let go of, and what
/// is in use for a moment is alive, too.
const DIP: f64 = 0.05;
/// Callers and points that text shows.
const CALLERS: usize = 4;
const SHOWN: usize = 5;

/// Objects of a class that were made in a context.
struct Grown {
    node: NodeId,
    /// Bytes, after so many collections each.
    points: Vec<u64>,
    collections: Vec<u64>,
    /// How many collections the oldest has survived.
    age: u64,
    bytes: u64,
    count: u64,
}

impl Grown {
    fn of(profile: &Profile, event: &Event) -> Option<Grown> {
        let detail = |key: &str| {
            event
                .details
                .iter()
                .find(|(name, _)| profile.str(*name) == key)
                .map(|(_, value)| profile.str(*value))
        };
        let numbers = |key: &str| -> Vec<u64> {
            detail(key).unwrap_or_default().split(' ').filter_map(|number| number.parse().ok()).collect()
        };
        profile.tree().method(event.node)?;
        let value = |name: &str| {
            profile
                .metric(name)
                .and_then(|metric| metric.values().get(event.node as usize).copied())
                .unwrap_or(0)
        };
        Some(Grown {
            node: event.node,
            points: numbers("bytes"),
            collections: numbers("collections"),
            age: numbers("age").first().copied().unwrap_or(0),
            bytes: value("live.bytes"),
            count: value("live.count"),
        })
    }

    /// From the first moment to the last.
    fn growth(&self) -> u64 {
        let (first, last) = (self.points.first(), self.points.last());
        last.copied().unwrap_or(0).saturating_sub(first.copied().unwrap_or(0))
    }

    /// Whether it grew from each moment to the next, all but a little, and in the second half, too.
    fn is_suspect(&self) -> bool {
        let (Some(&last), Some(&middle)) = (self.points.last(), self.points.get(self.points.len() / 2))
        else {
            return false;
        };
        let allowed = (last as f64 * DIP) as u64;
        let falls = self.points.windows(2).any(|two| two[1].saturating_add(allowed) < two[0]);
        let seen = self.points.iter().filter(|&&bytes| bytes > 0).count();
        seen >= LEAST && !falls && last > middle.saturating_add(allowed)
    }
}

/// All that was watched, and of it the suspects, what grew most first.
fn grown(profile: &Profile, options: &Options) -> Result<(Vec<Grown>, Vec<usize>), ReportError> {
    if profile.metric("live.bytes").is_none() {
        return Err(ReportError::Nothing { what: "leak", kind: "--live" });
    }
    let events = profile.events().iter().filter(|event| profile.str(event.name) == GROWTH);
    let all: Vec<Grown> = events.filter_map(|event| Grown::of(profile, event)).collect();
    let wanted = |row: &usize| match &options.filter {
        None => true,
        Some(filter) => pattern::wants(filter, class(profile, all[*row].node)),
    };
    let mut rows: Vec<usize> = (0..all.len()).filter(wanted).filter(|&row| all[row].is_suspect()).collect();
    rows.sort_by_key(|&row| (std::cmp::Reverse(all[row].growth()), all[row].node));
    Ok((all, rows))
}

/// The class of the objects of a leaf.
fn class(profile: &Profile, node: NodeId) -> &str {
    profile.tree().method(node).map_or("", |method| profile.str(profile.method(method).class))
}

/// The methods above a leaf: the one that made the objects first.
fn context(profile: &Profile, node: NodeId) -> Vec<MethodId> {
    let tree = profile.tree();
    let path = tree.path(node).into_iter().rev().filter_map(|node| tree.method(node));
    path.filter(|&method| !profile.method(method).is_detail()).collect()
}

pub(crate) fn json(profile: &Profile, options: &Options, out: &mut dyn io::Write) -> Result<(), ReportError> {
    let (all, rows) = grown(profile, options)?;
    let mut report = Report::new(out, "leak", &["live.bytes".to_owned(), "live.count".to_owned()])?;
    for &row in rows.iter().take(options.limit.unwrap_or(usize::MAX)) {
        let grown = &all[row];
        report.row(|object| {
            object.text("class", class(profile, grown.node))?;
            let context = context(profile, grown.node);
            object.strings("context", context.into_iter().map(|method| profile.method_name(method)))?;
            object.int("live.bytes", grown.bytes)?;
            object.int("live.count", grown.count)?;
            object.int("age", grown.age)?;
            object.int("growth", grown.growth())?;
            object.ints("bytes", &grown.points)?;
            object.ints("collections", &grown.collections)
        })?;
    }
    Ok(report.finish()?)
}

pub(crate) fn text(profile: &Profile, options: &Options, style: &Style) -> Result<String, ReportError> {
    let (all, rows) = grown(profile, options)?;
    let limit = options.limit.unwrap_or(LIMIT);
    let bytes = |value| in_unit(value, &Unit::Bytes);
    let mut out = String::new();
    let moments = all.iter().map(|grown| grown.points.len()).max().unwrap_or(0);
    let collections =
        all.iter().find_map(|grown| Some((*grown.collections.first()?, *grown.collections.last()?)));
    if rows.is_empty() {
        let _ = match collections {
            _ if moments < LEAST => {
                writeln!(
                    out,
                    "Too few collections to tell: it was looked {moments} times, and {LEAST} are needed."
                )
            }
            Some((first, last)) => writeln!(
                out,
                "Nothing grew from collection {first} to collection {last}; {} survivors were watched.",
                grouped(all.len() as u64)
            ),
            None => writeln!(out, "Nothing survived."),
        };
        return Ok(out);
    }
    let _ = writeln!(
        out,
        "{:>11} {:>11} {:>9} {:>5}  class, and where it is made",
        "growth", "live.bytes", "count", "age"
    );
    let mut line = |text: &str| {
        out.extend(printable(text).chars().take(style.width.unwrap_or(usize::MAX)));
        out.push('\n');
    };
    for &row in rows.iter().take(limit) {
        let grown = &all[row];
        line(&format!(
            "{:>11} {:>11} {:>9} {:>5}  {}",
            bytes(grown.growth()),
            bytes(grown.bytes),
            grouped(grown.count),
            grown.age,
            class(profile, grown.node)
        ));
        let context = context(profile, grown.node);
        for (at, &method) in context.iter().take(CALLERS).enumerate() {
            line(&format!("{:41}{} {}", "", if at == 0 { "in" } else { "by" }, profile.method_name(method)));
        }
        // As many as fit, with the first and the last.
        let last = grown.points.len().saturating_sub(1);
        let shown = (0..SHOWN.min(last + 1)).map(|at| at * last / (SHOWN.min(last + 1) - 1).max(1));
        let points: Vec<String> = shown.map(|at| bytes(grown.points[at])).collect();
        line(&format!("{:41}{}", "", points.join(", ")));
    }
    if rows.len() > limit {
        line(&format!("... {} more", rows.len() - limit));
    }
    if let Some((first, last)) = collections {
        line(&format!("Bytes are estimates; from collection {first} to collection {last}."));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::Grown;

    fn is_suspect(points: &[u64]) -> bool {
        let points = points.to_vec();
        Grown { node: 0, points, collections: Vec::new(), age: 0, bytes: 0, count: 0 }.is_suspect()
    }

    #[test]
    fn what_grows_is_suspected_and_what_appears_is_not() {
        assert!(is_suspect(&[10, 20, 30, 40, 50]));
        assert!(is_suspect(&[0, 0, 10, 20, 30, 40]));
        assert!(!is_suspect(&[0, 0, 0, 0, 0, 0, 27_066]), "it is there for the first time");
        assert!(!is_suspect(&[10, 20, 5, 40, 50]), "it was let go of");
        assert!(!is_suspect(&[10, 20, 40, 40, 40]), "it grew at the beginning only");
    }
}
