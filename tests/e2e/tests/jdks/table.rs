//! The table of the README.

use std::fs;
use std::path::Path;

use quipu_e2e::Jdk;

use crate::Row;

const BEGIN: &str = "<!-- jdks -->\n";
const END: &str = "<!-- /jdks -->";

/// Compares what works with what the README says of these JDKs, or writes it there.
pub fn check(jdks: &[Jdk], rows: &[Row], failures: &[(u32, usize)]) {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = fs::read_to_string(&readme).expect("a README");
    let (before_table, rest) = text.split_once(BEGIN).expect("where the table begins");
    let (told, after) = rest.split_once(END).expect("where the table ends");
    let parse = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let told: Vec<Vec<String>> = told.lines().map(parse).collect();
    let cells = |feature: u32| {
        let cell = |(number, row): (usize, &Row)| {
            let cell = match (feature < row.since, failures.contains(&(feature, number))) {
                (true, false) => "–",
                _ if !row.is_tried() => cell_told(&told, feature, &row.title).unwrap_or("not tried"),
                (_, true) => "fails",
                (false, false) => "✓",
            };
            cell.to_owned()
        };
        rows.iter().enumerate().map(cell).collect::<Vec<_>>()
    };
    let titles: Vec<&str> = told.iter().skip(2).filter_map(|row| row.first()).map(|title| &**title).collect();
    let expected: Vec<&str> = rows.iter().map(|row| &*row.title).collect();
    // What the README says of a JDK.
    let column = |feature: u32| -> Option<Vec<String>> {
        let column = told.first()?.iter().position(|cell| *cell == feature.to_string())?;
        (titles == expected).then(|| told.iter().skip(2).map(|row| row[column].clone()).collect())
    };
    let mut features: Vec<u32> = jdks.iter().map(|jdk| jdk.feature).collect();
    if std::env::var_os("QUIPU_BLESS").is_some() {
        // Of JDKs that are not here, what was told of them before.
        let before = told.first().into_iter().flatten().filter_map(|cell| cell.parse().ok());
        let others: Vec<u32> = before.filter(|feature| !features.contains(feature)).collect();
        let fresh = features.clone();
        features.extend(others.into_iter().filter(|&feature| column(feature).is_some()));
        features.sort_unstable();
        let columns: Vec<Vec<String>> =
            features
                .iter()
                .map(|&feature| {
                    if fresh.contains(&feature) {
                        cells(feature)
                    } else {
                        column(feature).unwrap_or_default()
                    }
                })
                .collect();
        let line = |first: &str, cells: Vec<String>| format!("| {first} | {} |\n", cells.join(" | "));
        let mut table = line("", features.iter().map(u32::to_string).collect());
        table += &format!("|---|{}\n", ":-:|".repeat(features.len()));
        for (number, row) in rows.iter().enumerate() {
            table += &line(&row.title, columns.iter().map(|column| column[number].clone()).collect());
        }
        fs::write(&readme, format!("{before_table}{BEGIN}{table}{END}{after}")).expect("a README");
        return;
    }
    let advice = "write the table anew with QUIPU_BLESS=1";
    assert_eq!(titles, expected, "{advice}");
    for feature in features {
        assert_eq!(column(feature), Some(cells(feature)), "JDK {feature}: {advice}");
    }
}

/// What a table says.
fn cell_told<'a>(table: &'a [Vec<String>], feature: u32, title: &str) -> Option<&'a str> {
    let column = table.first()?.iter().position(|cell| *cell == feature.to_string())?;
    let row = table.iter().find(|row| row.first().is_some_and(|first| first == title))?;
    row.get(column).map(String::as_str)
}
