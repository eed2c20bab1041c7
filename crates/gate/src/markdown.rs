//! The verdict as a comment on a pull request.

use crate::Verdict;
use crate::number::{grouped, signed};
use crate::text::{
    SHOWN, compared, context, harmless, headline, not_run, reasons, remark, shown_subjects, subject_name,
};

/// The verdict as Markdown: a table of totals, then the places to look at.
pub fn markdown(verdict: &Verdict) -> String {
    let mark = if verdict.passed() { "✅" } else { "❌" };
    let mut out = format!("### {mark} {}\n\n", escape(&headline(verdict)));
    let subjects = shown_subjects(verdict);
    if !subjects.is_empty() {
        out += "| | baseline | new | change | | |\n|---|---:|---:|---:|---:|---|\n";
    }
    for subject in subjects {
        let [before, change, relative] = compared(subject);
        out += &format!(
            "| {} | {} | {} | {} | {} | {}{} |\n",
            code(&subject_name(subject)),
            before,
            grouped(subject.after),
            change,
            escape(&relative),
            subject.outcome.as_str(),
            escape(&remark(subject))
        );
    }
    if let Some(sentence) = not_run(verdict) {
        out += &format!("\n{}\n", escape(&sentence));
    }
    verdict.beyond_budget.iter().for_each(|sentence| out += &format!("\n{}\n", escape(sentence)));
    if !verdict.culprits.is_empty() {
        out += "\n**Where the new work is**\n\n";
        for (at, culprit) in verdict.culprits.iter().take(SHOWN).enumerate() {
            let source =
                culprit.place.source_line().map_or_else(String::new, |line| format!(" ({})", code(&line)));
            out += &format!(
                "{}. **{} {}** in {}{source}: {}  \n   <sub>{}</sub>\n",
                at + 1,
                signed(culprit.cost),
                escape(&verdict.metric),
                code(&culprit.place.name()),
                escape(&reasons(culprit)),
                escape(&context(culprit))
            );
        }
        out += &rest(verdict.culprits.len());
    }
    if !verdict.improvements.is_empty() {
        out += "\n**Where there is less**\n\n";
        for culprit in verdict.improvements.iter().take(SHOWN) {
            let name = code(&culprit.place.name());
            out += &format!("- {} in {name}: {}\n", signed(culprit.cost), escape(&reasons(culprit)));
        }
        out += &rest(verdict.improvements.len());
    }
    let changes = harmless(verdict);
    if !changes.is_empty() {
        out += "\n**The same work elsewhere**\n\n";
        for change in changes.iter().take(SHOWN) {
            out += &format!("- {}\n", escape(change));
        }
        out += &rest(changes.len());
    }
    out
}

fn rest(all: usize) -> String {
    match all.saturating_sub(SHOWN) {
        0 => String::new(),
        n => format!("\nand {n} more\n"),
    }
}

/// Code in a table cell: a backtick or bar in a name would end it.
fn code(text: &str) -> String {
    let text = crate::text::printable(text).replace('`', "'").replace('|', "\\|");
    format!("`{text}`")
}

/// Text that means nothing but itself.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '@' | '$' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
