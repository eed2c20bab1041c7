//! Diffs for people.

use super::{DiffOptions, by_name, changed, compare};
use crate::ReportError;
use crate::number::{grouped, in_unit};
use crate::style::{Paint, Style};
use crate::table::{Name, Table, printable};
use quipu_profile::{
    By, Change, Diff, DiffRow, MethodId, NO_METHOD, On, Profile, Significance, Unit, overlap_of, simple_name,
};

const LIMIT: usize = 20;
/// Callers shown before a context.
const CALLERS: usize = 2;

/// A sentence, then the methods that changed most, what moved, and where in the tree it happened.
pub fn diff_text(
    a: &Profile,
    b: &Profile,
    options: &DiffOptions,
    style: &Style,
) -> Result<String, ReportError> {
    let (found, metric) = compare(a, b, options)?;
    let unit = found.aligned.specs[0].unit.clone();
    let mut out = summary(&found, &metric, &unit, style);
    let limit = options.limit.unwrap_or(LIMIT);
    let rows: Vec<&DiffRow> = changed(&found).collect();
    if !rows.is_empty() {
        let headers = ["before", "after", "change", ""].map(str::to_owned).to_vec();
        let mut table = Table::new(style, headers, &format!("{} of {metric} itself", by_name(options.by)))
            .counting(&unit);
        let largest = rows.iter().map(|row| weight(row)).max().unwrap_or(0);
        for row in rows.iter().take(limit) {
            table.row(
                cells(row.change, row.own, &unit),
                crate::number::share(weight(row), largest),
                name(&found, row),
            );
        }
        if rows.len() > limit {
            table.note(format!("{} {} more", style.dots(), grouped((rows.len() - limit) as u64)));
        }
        out.push('\n');
        out.push_str(&table.render_methods(&found.aligned.both));
    }
    if options.by == By::Method && !found.moved.is_empty() {
        out.push('\n');
        out.push_str(&moved(&found, &metric, &unit, limit, style));
    }
    if options.by == By::Method && options.filter.is_none() {
        out.push_str(&contexts(&found, &metric, &unit, limit, style));
    }
    Ok(out)
}

/// Contexts that changed most, with the last frames of their paths.
fn contexts(found: &Diff, metric: &str, unit: &Unit, limit: usize, style: &Style) -> String {
    let rows = found.contexts();
    if rows.is_empty() {
        return String::new();
    }
    let both = &found.aligned.both;
    let headers = ["before", "after", "change", ""].map(str::to_owned).to_vec();
    let mut table = Table::new(style, headers, &format!("context of {metric} itself")).counting(unit);
    // Contexts repeat what methods said, place by place: half as many will do.
    let limit = limit.div_ceil(2);
    let largest = rows.iter().map(|row| row.own[0].abs_diff(row.own[1])).max().unwrap_or(0);
    for row in rows.iter().take(limit) {
        let path = both.tree().path(row.node);
        let callers = path[..path.len() - 1].iter().rev().take(CALLERS).rev();
        let mut name = Name::method(both, both.tree().methods()[row.node as usize]);
        name.lead = if path.len() > CALLERS + 1 { format!("{} > ", style.dots()) } else { String::new() };
        for &caller in callers {
            let method = both.method(both.tree().methods()[caller as usize]);
            let class = printable(simple_name(both.str(method.class)));
            name.lead.push_str(&format!("{class}.{} > ", printable(both.str(method.name))));
        }
        name.suffix.push_str(&format!("  {}", row.change.as_str()));
        // A subtree that came or went is one row: its weight is all of it.
        let values = match row.change {
            Change::Appeared | Change::Vanished => row.total,
            _ => row.own,
        };
        let part = crate::number::share(row.own[0].abs_diff(row.own[1]), largest);
        table.row(cells(row.change, values, unit), part, name);
    }
    if rows.len() > limit {
        table.note(format!("{} {} more", style.dots(), grouped((rows.len() - limit) as u64)));
    }
    format!("\n{}", table.render_methods(both))
}

/// What a row is ranked by: a key that came or went by all of it, others by what they do themselves.
fn weight(row: &DiffRow) -> u64 {
    row.own[0].abs_diff(row.own[1])
}

fn cells(change: Change, [before, after]: [u64; 2], unit: &Unit) -> Vec<String> {
    let sign = if after >= before { "+" } else { "-" };
    let difference = format!("{sign}{}", in_unit(before.abs_diff(after), unit));
    let relative = match (change, before) {
        (Change::Appeared, _) => "new".into(),
        (Change::Vanished, _) => "gone".into(),
        (_, 0) => String::new(),
        _ => relative(before, after),
    };
    vec![in_unit(before, unit), in_unit(after, unit), difference, relative]
}

fn relative(before: u64, after: u64) -> String {
    let percent = (after as f64 - before as f64) / before as f64 * 100.0;
    match percent.abs() {
        1000.0.. => format!("x{:.1}", after as f64 / before as f64),
        // Exact counts can differ by one in a million, and someone will want to know.
        ..0.1 => format!("{percent:+.4} %"),
        _ => format!("{percent:+.1} %"),
    }
}

fn name(found: &Diff, row: &DiffRow) -> Name {
    let mut name = match found.by {
        By::Method => Name::method(&found.aligned.both, row.key),
        _ => Name::plain(printable(&found.names[row.key as usize])),
    };
    let Significance { sigmas, .. } = row.significance;
    name.suffix = format!("  {}", row.change.as_str());
    if sigmas.is_finite() {
        name.suffix.push_str(&format!(", {:.1} sigma", sigmas.abs()));
    }
    name
}

fn summary(found: &Diff, metric: &str, unit: &Unit, style: &Style) -> String {
    let [before, after] = found.sums;
    let mut out = format!("{metric}: {} before, {} after", in_unit(before, unit), in_unit(after, unit));
    if before != after && before != 0 {
        let paint = if after > before { Paint::Hot } else { Paint::Good };
        out.push_str(&style.paint(paint, &format!(", {}", relative(before, after))));
    }
    out.push_str(&format!("; contexts overlap {:.2} %\n", overlap_of(&found.aligned, On::Context)));
    let count = |wanted: Change| found.rows.iter().filter(|row| row.change == wanted).count();
    let words: Vec<String> = [Change::Heavier, Change::Lighter, Change::Appeared, Change::Vanished]
        .into_iter()
        .filter(|&change| count(change) > 0)
        .map(|change| format!("{} {}", grouped(count(change) as u64), change.as_str()))
        .chain((!found.moved.is_empty()).then(|| format!("{} moved", grouped(found.moved.len() as u64))))
        .collect();
    out.push_str(&match (words.is_empty(), found.aligned.sampled()) {
        (true, true) => "nothing changed beyond the sampling error\n".to_owned(),
        (true, false) => "nothing changed\n".to_owned(),
        (false, _) => format!("{}\n", words.join(", ")),
    });
    out
}

fn moved(found: &Diff, metric: &str, unit: &Unit, limit: usize, style: &Style) -> String {
    let both = &found.aligned.both;
    let name = |method: MethodId| match method {
        NO_METHOD => "(thread)".to_owned(),
        method => printable(&both.method_name(method)),
    };
    let mut table = Table::new(style, vec![metric.to_owned()], "moved to another caller");
    let largest = found.moved.first().map_or(0, |moved| moved.weight);
    for moved in found.moved.iter().take(limit) {
        let text = format!("{}: from {} to {}", name(moved.method), name(moved.from), name(moved.to));
        table.row(
            vec![in_unit(moved.weight, unit)],
            crate::number::share(moved.weight, largest),
            Name::plain(text),
        );
    }
    if found.moved.len() > limit {
        table.note(format!("{} {} more", style.dots(), grouped((found.moved.len() - limit) as u64)));
    }
    table.render()
}
