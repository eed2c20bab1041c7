//! A run in a few lines: each profiler over all its programs, beside Quipu over the same ones.

use crate::profiler::Origin;
use crate::statistics::geometric_mean;
use crate::summary::Row;
use crate::table::Table;

/// One line for each question, JDK and profiler.
pub fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(&[
        "question",
        "profiler",
        "JDK",
        "programs",
        "wall ×",
        "least–most",
        "Quipu × on the same",
        "CPU ×",
        "start ×",
        "memory ×",
    ]);
    let mut seen: Vec<(&str, u32, &str)> = Vec::new();
    for row in rows {
        let key = (row.question.as_str(), row.jdk, row.profiler.as_str());
        if !seen.contains(&key) {
            seen.push(key);
        }
    }
    let origin = |profiler: &str| rows.iter().find(|row| row.profiler == profiler).map(|row| row.origin);
    // Quipu first, then the others.
    seen.sort_by_key(|(question, jdk, profiler)| (*question, *jdk, origin(profiler) == Some(Origin::Peer)));
    for (question, jdk, profiler) in seen {
        let all: Vec<&Row> = rows
            .iter()
            .filter(|row| {
                (row.question.as_str(), row.jdk, row.profiler.as_str()) == (question, jdk, profiler)
            })
            .collect();
        let good: Vec<&Row> = all.iter().copied().filter(|row| row.wall.is_some()).collect();
        let same = (origin(profiler) == Some(Origin::Peer))
            .then(|| mean(&same_programs(rows, (question, jdk), &good), wall))
            .flatten();
        table.rows.push(vec![
            question.to_owned(),
            profiler.to_owned(),
            jdk.to_string(),
            if good.len() == all.len() {
                all.len().to_string()
            } else {
                format!("{} of {}", good.len(), all.len())
            },
            number(mean(&good, wall)),
            least_and_most(&good),
            number(same),
            number(mean(&good, |row| Some(row.cpu.as_ref()?.median))),
            number(mean(&good, |row| Some(row.startup.as_ref()?.median))),
            number(mean(&good, |row| Some(row.memory.as_ref()?.median))),
        ]);
    }
    table
}

/// Kinds that a reader of the README asks for first, cheapest first.
const FIRST: [&str; 5] = ["cpu", "wall", "contexts-none", "exact-app", "exact"];

/// Five lines: what each of Quipu's main kinds costs on the oldest JDK that it ran on.
pub fn short(rows: &[Row]) -> Table {
    let all = table(rows);
    let mut short = Table::new(&[
        "question",
        "kind",
        "JDK",
        "programs",
        "wall ×",
        "least–most",
        "CPU ×",
        "start ×",
        "memory ×",
    ]);
    for kind in FIRST {
        let of_kind = all.rows.iter().filter(|row| row[1] == kind);
        if let Some(row) = of_kind.min_by_key(|row| row[2].parse::<u32>().unwrap_or(u32::MAX)) {
            short.rows.push([&row[..6], &row[7..]].concat());
        }
    }
    short
}

/// Quipu's first kind that answers the question, with the same programs.
fn same_programs<'a>(rows: &'a [Row], (question, jdk): (&str, u32), of: &[&Row]) -> Vec<&'a Row> {
    let ours = |row: &&Row| row.question == question && row.jdk == jdk && row.origin == Origin::Kind;
    let Some(kind) = rows.iter().filter(ours).map(|row| row.profiler.as_str()).min_by_key(|name| name.len())
    else {
        return Vec::new();
    };
    rows.iter()
        .filter(ours)
        .filter(|row| row.profiler == kind && of.iter().any(|it| it.program == row.program))
        .collect()
}

fn wall(row: &Row) -> Option<f64> {
    Some(row.wall.as_ref()?.median)
}

fn mean(rows: &[&Row], of: fn(&Row) -> Option<f64>) -> Option<f64> {
    geometric_mean(&rows.iter().filter_map(|row| of(row)).collect::<Vec<_>>())
}

fn least_and_most(rows: &[&Row]) -> String {
    let mut walls: Vec<f64> = rows.iter().filter_map(|row| wall(row)).collect();
    walls.sort_by(f64::total_cmp);
    match walls.as_slice() {
        [least, .., most] => format!("{least:.2}–{most:.2}"),
        _ => String::new(),
    }
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{value:.2}"))
}

#[cfg(test)]
mod tests {
    use super::table;
    use crate::profiler::Origin;
    use crate::statistics::{USUAL, estimate};
    use crate::summary::Row;

    fn row(program: &str, profiler: &str, origin: Origin, walls: &[f64]) -> Row {
        let mut row = Row::of(&[], &crate::profiler::Profiler::plain(), crate::program::Split::default());
        row.program = program.to_owned();
        row.profiler = profiler.to_owned();
        row.question = "calls".to_owned();
        row.origin = origin;
        row.jdk = 17;
        row.wall = estimate(walls, USUAL);
        row
    }

    #[test]
    fn a_peer_is_compared_over_the_programs_it_could_do() {
        let rows = [
            row("a", "peer", Origin::Peer, &[8.0]),
            row("b", "peer", Origin::Peer, &[]),
            row("a", "exact", Origin::Kind, &[2.0]),
            row("b", "exact", Origin::Kind, &[8.0]),
            row("a", "exact-other", Origin::Kind, &[3.0]),
        ];
        let table = table(&rows);
        let column = |at: usize| table.rows.iter().map(|row| row[at].as_str()).collect::<Vec<_>>();
        assert_eq!(column(1), ["exact", "exact-other", "peer"]);
        assert_eq!(column(3), ["2", "1", "1 of 2"]);
        assert_eq!(column(4), ["4.00", "3.00", "8.00"]);
        assert_eq!(column(6), ["", "", "2.00"], "on program a only");
    }

    #[test]
    fn the_short_table_has_the_first_kinds_on_the_oldest_jdk() {
        let mut newer = row("a", "cpu", Origin::Kind, &[9.0, 9.0]);
        newer.jdk = 25;
        let rows = [
            row("a", "exact", Origin::Kind, &[2.0, 2.0]),
            newer,
            row("a", "cpu", Origin::Kind, &[1.0, 1.0]),
            row("a", "async-cpu", Origin::Peer, &[1.0, 1.0]),
        ];
        let short = super::short(&rows);
        let kinds: Vec<[&str; 2]> = short.rows.iter().map(|row| [row[1].as_str(), row[2].as_str()]).collect();
        assert_eq!(kinds, [["cpu", "17"], ["exact", "17"]]);
        assert!(short.rows.iter().all(|row| row.len() == 9));
    }
}
