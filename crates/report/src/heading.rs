//! The first lines of a report: what was measured, how much there is, what is missing.

use crate::columns::Selection;
use crate::number::{grouped, in_unit, ratio};
use crate::style::{Paint, Style};
use crate::table::{filled, printable, shorten};
use quipu_profile::{MetricKind, Profile, lost_in_words};

/// Letters of a command line where it is not known how wide a line may be.
const LONGEST: usize = 200;

/// Stands before the metrics that are there and not shown.
const ALSO: &str = "--metric has also: ";

/// Elapsed time, and what the profile says of how true it is.
const TIME: &str = "time";
const MEASURING: &str = "measuring took";

pub(crate) fn heading(profile: &Profile, selection: &Selection, left_out: u64, style: &Style) -> String {
    let mut parts: Vec<String> = selection
        .metrics(profile)
        .map(|metric| {
            // A sum of n samples has a standard error of √n of them.
            let kind = match metric.spec().kind {
                MetricKind::Exact => "exact".to_owned(),
                MetricKind::Sampled { period } => {
                    let samples = metric.total() / period.max(1);
                    match profile.variance(metric) {
                        // Samples that do not all stand for the same.
                        Some(variance) => {
                            let error = (variance.total() as f64).sqrt() / metric.total().max(1) as f64;
                            format!("sampled, +-{:.1} %", 100.0 * error)
                        }
                        None => {
                            let error = 100.0 / (samples.max(1) as f64).sqrt();
                            format!("{}, +-{error:.1} %", counted(samples, "sample"))
                        }
                    }
                }
            };
            let value = in_unit(metric.total(), &metric.spec().unit);
            format!("{} {value} ({kind})", metric.name())
        })
        .collect();
    if let Some((numerator, denominator)) = selection.ratio(profile) {
        let all = ratio(numerator.total(), denominator.total());
        parts.push(format!("{}/{} {all}", numerator.name(), denominator.name()));
    }
    let threads: u64 = profile.threads().iter().fold(0, |sum, thread| sum.saturating_add(thread.threads));
    let contexts = profile.tree().len() - profile.threads().len();
    parts.push(counted(threads, "thread"));
    parts.push(counted(contexts as u64, "context"));
    let mut out = String::new();
    let command = printable(&profile.meta.target.command.join(" "));
    if !command.is_empty() {
        // Class paths run to thousands of letters; the end of a command says more than the middle.
        let command = shorten(&command, style.width.unwrap_or(LONGEST), style.dots());
        out.push_str(&style.paint(Paint::Dim, &command));
        out.push('\n');
    }
    let columns = style.width.unwrap_or(usize::MAX);
    out.push_str(&filled("", &parts, columns));
    out.push('\n');
    let others = selection.others(profile);
    if !others.is_empty() {
        out.push_str(&style.paint(Paint::Dim, &filled(ALSO, &others, columns)));
        out.push('\n');
    }
    if selection.metrics(profile).any(|metric| metric.name() == TIME) {
        for cost in profile.run.cost.iter().filter(|cost| cost.starts_with(MEASURING)) {
            let parts: Vec<String> = cost.split(", ").map(printable).collect();
            out.push_str(&style.paint(Paint::Dim, &filled("", &parts, columns)));
            out.push('\n');
        }
    }
    if left_out > 0 {
        let threads = counted(left_out, "thread");
        let note = filled(
            "left out: ",
            &[format!("{threads} of the JVM and of Quipu"), "--all-threads has them".to_owned()],
            columns,
        );
        out.push_str(&style.paint(Paint::Dim, &note));
        out.push('\n');
    }
    if !profile.meta.lost.is_empty() {
        let mut lost: Vec<String> =
            profile.meta.lost.iter().map(|(cause, &count)| printable(&lost_in_words(cause, count))).collect();
        if let Some(last) = lost.last_mut() {
            last.push_str(&of_walks(profile));
        }
        out.push_str(&style.paint(Paint::Warm, &filled("not in it: ", &lost, columns)));
        out.push('\n');
    }
    out.push('\n');
    out
}

/// `1 thread`, `2 threads`.
pub(crate) fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// How many stacks were walked, beside those that could not be.
fn of_walks(profile: &Profile) -> String {
    let failed: u64 =
        profile.meta.lost.iter().filter(|(cause, _)| cause.starts_with("walks.")).map(|(_, n)| *n).sum();
    let walks = profile.run.extra.iter().find(|(key, _)| key == "stack walks");
    let walks = walks.and_then(|(_, walks)| walks.parse::<u64>().ok()).filter(|&walks| walks > 0);
    match walks {
        Some(walks) if failed > 0 => {
            format!(" ({:.2} % of {walks} stack walks)", failed as f64 / walks as f64 * 100.0)
        }
        _ => String::new(),
    }
}
