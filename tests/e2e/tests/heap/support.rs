//! The command, and what it answers.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

use quipu_e2e::{Command, tools};
use serde_json::Value;

/// `quipu heap …`.
pub fn heap(arguments: &[&str]) -> Output {
    Command::new(&tools().quipu).arg("heap").args(arguments).output().expect("quipu runs")
}

/// The same, which must succeed; what it printed for programs.
pub fn json(arguments: &[&str]) -> Value {
    let output = heap(&[arguments, &["--json"]].concat());
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {err}");
    serde_json::from_str(&out).expect("JSON")
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Objects and bytes by class.
pub type Histogram = BTreeMap<String, (u64, u64)>;

pub fn histogram(arguments: &[&str]) -> Histogram {
    let answer = json(&[&["histo"], arguments, &["--limit", "0"]].concat());
    let number = |row: &Value, key: &str| row[key].as_u64().expect("a number");
    let rows = answer["rows"].as_array().expect("rows").iter();
    rows.map(|row| {
        (row["class"].as_str().expect("a name").to_owned(), (number(row, "objects"), number(row, "bytes")))
    })
    .collect()
}
