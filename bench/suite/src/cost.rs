//! Costs that do not depend on the clock: instructions executed and bytes inserted, compared with a baseline.

use std::collections::BTreeMap;

use crate::table::Table;

/// Costs by name. Instructions and everything else a smaller number of which is better.
pub type Costs = BTreeMap<String, u64>;

/// How much more is allowed, in percent: compilers differ, and hash tables are seeded at random.
fn tolerance(name: &str) -> f64 {
    if name.ends_with("instructions") { 5.0 } else { 1.0 }
}

/// The instructions that callgrind says it counted.
pub fn instructions(printed: &str) -> Option<u64> {
    let line = printed.lines().find_map(|line| line.split_once("Collected :"))?;
    line.1.split_whitespace().next()?.parse().ok()
}

/// Takes in the `name number` lines a piece of work printed.
pub fn figures(work: &str, printed: &str, costs: &mut Costs) {
    for line in printed.lines() {
        if let Some((name, number)) = line.split_once(' ')
            && let Ok(number) = number.parse()
        {
            costs.insert(format!("{work}.{name}"), number);
        }
    }
}

/// A baseline's text.
pub fn baseline(costs: &Costs) -> String {
    let lines: String = costs.iter().map(|(name, cost)| format!("{name} {cost}\n")).collect();
    format!("# Costs of fixed work; made by `cargo run -p quipu-bench --bin cost -- --bless`.\n{lines}")
}

/// A baseline from its text.
pub fn parse(text: &str) -> Costs {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, n)| Some((name.to_owned(), n.parse().ok()?)))
        .collect()
}

/// The costs beside those of the baseline, and the names of those that grew by too much or are new or gone.
pub fn compare(baseline: &Costs, now: &Costs) -> (Table, Vec<String>) {
    let mut table = Table::new(&["cost", "", "baseline", "now", "change"]);
    let mut failed = Vec::new();
    let names: std::collections::BTreeSet<&String> = baseline.keys().chain(now.keys()).collect();
    for name in names {
        let (before, after) = (baseline.get(name), now.get(name));
        let (verdict, change) = match (before, after) {
            (Some(&before), Some(&after)) => {
                let percent = (after as f64 - before as f64) / before.max(1) as f64 * 100.0;
                let limit = tolerance(name);
                let fixed = name.ends_with(".methods") || name.ends_with(".nodes");
                let verdict = match percent {
                    _ if fixed && after != before => "OTHER",
                    more if more > limit => "MORE",
                    less if less < -limit => "less",
                    _ => "",
                };
                (verdict, format!("{percent:+.1}%"))
            }
            (None, _) => ("NEW", String::new()),
            (_, None) => ("GONE", String::new()),
        };
        if ["MORE", "OTHER", "NEW", "GONE"].contains(&verdict) {
            failed.push(name.clone());
        }
        let number = |n: Option<&u64>| n.map_or_else(String::new, u64::to_string);
        table.rows.push(vec![name.clone(), verdict.to_owned(), number(before), number(after), change]);
    }
    (table, failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(of: &[(&str, u64)]) -> Costs {
        of.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect()
    }

    #[test]
    fn growth_beyond_the_tolerance_is_found() {
        let before = costs(&[("read.instructions", 1000), ("rewrite.inserted-bytes", 1000), ("over", 0)]);
        let within = costs(&[("read.instructions", 1049), ("rewrite.inserted-bytes", 1010), ("over", 0)]);
        assert!(compare(&before, &within).1.is_empty());
        let beyond = costs(&[("read.instructions", 1051), ("rewrite.inserted-bytes", 1011), ("over", 1)]);
        assert_eq!(compare(&before, &beyond).1, ["over", "read.instructions", "rewrite.inserted-bytes"]);
        assert_eq!(compare(&before, &costs(&[("over", 0)])).1.len(), 2);
        // Not a cost: how much work was done.
        let (done, undone) = (costs(&[("rewrite.methods", 10_000)]), costs(&[("rewrite.methods", 9_999)]));
        assert_eq!(compare(&done, &undone).1, ["rewrite.methods"]);
    }

    #[test]
    fn baselines_survive_their_text() {
        let some = costs(&[("a.instructions", 12), ("b.bytes", 0)]);
        assert_eq!(parse(&baseline(&some)), some);
    }

    #[test]
    fn figures_are_read_from_what_is_printed() {
        let mut found = Costs::new();
        figures("rewrite", "methods 7\nnot a figure\nleft 0\n", &mut found);
        assert_eq!(found, costs(&[("rewrite.methods", 7), ("rewrite.left", 0)]));
        assert_eq!(instructions("==1== Events    : Ir\n==1== Collected : 12345\n"), Some(12345));
        assert_eq!(instructions("nothing"), None);
    }
}
