//! Plain tables: numbers to the right, the name last.

use quipu_profile::Unit;
use quipu_report::{grouped, in_unit, printable};

/// Columns of figures and a name behind them.
pub struct Table {
    headers: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// With these headers; the last is the name's.
    pub fn new(headers: &[&'static str]) -> Table {
        Table { headers: headers.to_vec(), rows: Vec::new() }
    }

    /// One more row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// As text, each line behind `indent`.
    pub fn text(&self, indent: &str) -> String {
        let last = self.headers.len().saturating_sub(1);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
            cells.chain([self.headers[column].len()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..last).map(width).collect();
        let mut text = String::new();
        let headers = self.headers.iter().map(|header| (*header).to_owned()).collect();
        for row in std::iter::once(&headers).chain(&self.rows) {
            text.push_str(indent);
            for (cell, width) in row.iter().zip(&widths) {
                text.push_str(&" ".repeat(width.saturating_sub(cell.chars().count())));
                text.push_str(cell);
                text.push_str("  ");
            }
            text.push_str(row.get(last).map_or("", String::as_str));
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
        }
        text
    }
}

/// Bytes for people.
pub fn bytes(value: u64) -> String {
    in_unit(value, &Unit::Bytes)
}

/// A count for people.
pub fn count(value: u64) -> String {
    grouped(value)
}

/// A share of a whole.
pub fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / whole.max(1) as f64)
}

/// Names come from dumps, which may have anything in them.
pub fn name(text: &str) -> String {
    printable(text)
}

/// "and 17 more", if there are.
pub fn more(all: usize, shown: usize) -> String {
    if all > shown {
        format!("… and {} more (--limit)\n", grouped((all - shown) as u64))
    } else {
        String::new()
    }
}
