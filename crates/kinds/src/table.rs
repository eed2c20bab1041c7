//! The table of kinds in the documents.

use std::fmt::Write;

use crate::{ALL, KINDS, Recorded, Setting, Value, listed, settings};

/// All kinds with their options and metrics, as Markdown.
pub fn table() -> String {
    let mut text =
        String::from("| kind | what it measures | metrics | Java | cost |\n|---|---|---|---|---|\n");
    for kind in KINDS {
        let metrics: Vec<String> = kind.metrics.iter().map(|metric| format!("`{}`", metric.name)).collect();
        let since = match kind.since_for(ALL) {
            least if least < kind.since => format!("{} and newer; {least} with `{ALL}`", kind.since),
            _ => format!("{} and newer", kind.since),
        };
        let row = [&spelled(&kind.switch), kind.switch.help, &metrics.join(", "), &since, kind.cost];
        let _ = writeln!(text, "| {} |", row.map(cell).join(" | "));
    }
    text.push_str("\n| option | of | default | while it runs | what it does |\n|---|---|---|---|---|\n");
    let is_kind = |setting: &&Setting| KINDS.iter().any(|kind| kind.name() == setting.name);
    for setting in settings().filter(|setting| !is_kind(setting)) {
        let of = if setting.kinds.is_empty() {
            "all".to_owned()
        } else {
            listed(setting.kinds.iter().copied()).replace(" or ", ", ")
        };
        let changes = if setting.changeable { "`ctl set`" } else { "" };
        let row = [&spelled(setting), of.as_str(), setting.default.unwrap_or(""), changes, setting.help];
        let _ = writeln!(text, "| {} |", row.map(cell).join(" | "));
    }
    text.push_str("\n| metric | of | unit | what it tells |\n|---|---|---|---|\n");
    for kind in KINDS {
        for metric in kind.metrics {
            let name = format!("`{}`", metric.name);
            let row = [&name, kind.name(), metric.unit.as_str(), metric.help];
            let _ = writeln!(text, "| {} |", row.map(cell).join(" | "));
        }
    }
    text.push_str("\n| event | of | what it tells |\n|---|---|---|\n");
    for kind in KINDS {
        for event in kind.events {
            let name = format!("`{}`", event.name);
            let _ = writeln!(text, "| {} |", [&name, kind.name(), event.help].map(cell).join(" | "));
        }
    }
    let told = settings().filter(|setting| setting.recorded == Recorded::Always).map(|setting| setting.name);
    let _ = writeln!(
        text,
        "\nA profile records the options that were given, and always: {}.",
        told.collect::<Vec<_>>().join(", ")
    );
    text
}

fn spelled(setting: &Setting) -> String {
    match setting.value {
        Value::Switch => format!("`--{}`", setting.name),
        Value::Choice(words) => {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            format!("`--{} {}`", setting.name, words.join("|"))
        }
        value if setting.may_be_bare() => format!("`--{} [{}]`", setting.name, value.name()),
        value => format!("`--{} {}`", setting.name, value.name()),
    }
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
