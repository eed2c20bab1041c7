//! A listing as text and JSON.

use crate::Row;
use quipu_profile::{MethodId, Profile};
use quipu_report::{Style, grouped, printable};
use serde_json::json;

/// The method's name, then a line for each instruction; counts stand at the first of each block.
pub fn text(profile: &Profile, method: MethodId, rows: &[Row], style: &Style) -> String {
    let known = profile.method(method);
    let most = rows.iter().map(|row| row.count).max().unwrap_or(0);
    let width = grouped(most).len().max("executions".len());
    let bci = rows.last().map_or(1, |row| row.bci.to_string().len()).max("bci".len());
    let mut out = format!("{}{}", profile.method_name(method), profile.str(known.descriptor));
    if known.source != 0 {
        out.push_str(&format!("  {}", profile.str(known.source)));
    }
    out = printable(&out);
    out.push_str(&format!("\n{:>width$}  {:bars$}{:>bci$}\n", "executions", "", "bci", bars = bars(style)));
    for row in rows {
        if let Some(line) = row.line {
            out.push_str(&format!(
                "{:width$}  {:bars$}{:bci$}  // line {line}\n",
                "",
                "",
                "",
                bars = bars(style)
            ));
        }
        let (count, bar) = match row.leads {
            true => (grouped(row.count), style.bar(share(row.count, most), BAR)),
            false => (String::new(), String::new()),
        };
        let bar = format!("{bar:bars$}", bars = bars(style));
        let line =
            format!("{count:>width$}  {bar}{:>bci$}  {} {}", row.bci, row.mnemonic, printable(&row.operands));
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Columns of the bar behind a count.
const BAR: usize = 10;

fn bars(style: &Style) -> usize {
    if style.unicode { BAR + 2 } else { 0 }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// `{"by":"bytecode","metrics":["executions"],"rows":[…]}`, as reports have it.
pub fn json(profile: &Profile, method: MethodId, rows: &[Row]) -> String {
    let known = profile.method(method);
    let rows: Vec<String> = rows
        .iter()
        .map(|row| {
            json!({
                "class": profile.str(known.class),
                "method": profile.str(known.name),
                "descriptor": profile.str(known.descriptor),
                "bci": row.bci,
                "line": row.line,
                "block": row.leads,
                "instruction": row.mnemonic,
                "operands": row.operands,
                "executions": row.count,
            })
            .to_string()
        })
        .collect();
    format!("{{\"by\":\"bytecode\",\"metrics\":[\"executions\"],\"rows\":[\n{}]}}\n", rows.join(",\n"))
}
