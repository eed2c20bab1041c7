//! Costs that do not depend on the clock: instructions executed, allocations and bytes inserted, compared with a
//! baseline.

use std::collections::BTreeMap;

use crate::table::Table;

/// Costs by name. Instructions and everything else a smaller number of which is better.
pub type Costs = BTreeMap<String, u64>;

/// How much more is allowed, in percent. What the rewriter inserts is the same everywhere. Our own instructions differ
/// by a thousandth of a percent from run to run; another release of the compiler gets more room (`stranger`). Those in
/// libraries (copying memory, allocating) depend on the C library's version.
fn tolerance(name: &str, stranger: bool) -> f64 {
    match name.rsplit_once('.').map_or(name, |(_, what)| what) {
        "instructions" | "allocations" if stranger => 12.0,
        "instructions" | "allocations" => 3.0,
        "library-instructions" => 30.0,
        _ => 1.0,
    }
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

/// A baseline's text; `compiler` is its release, such as `1.95`.
pub fn baseline(costs: &Costs, compiler: &str) -> String {
    let lines: String = costs.iter().map(|(name, cost)| format!("{name} {cost}\n")).collect();
    format!(
        "# Costs of fixed work; made by `cargo run -p quipu-bench --bin cost -- --bless`.\n{COMPILER}{compiler}\n{lines}"
    )
}

const COMPILER: &str = "# rustc ";

/// The release of the compiler a baseline was made with.
pub fn compiler_of(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix(COMPILER))
}

/// The release in what `rustc --version` prints, without the patch: that changes no code generation.
pub fn release(printed: &str) -> Option<String> {
    let mut numbers = printed.split_whitespace().nth(1)?.split('.');
    Some(format!("{}.{}", numbers.next()?, numbers.next()?))
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
/// `stranger`: they were made with another release of the compiler.
pub fn compare(baseline: &Costs, now: &Costs, stranger: bool) -> (Table, Vec<String>) {
    let mut table = Table::new(&["cost", "", "baseline", "now", "change"]);
    let mut failed = Vec::new();
    let names: std::collections::BTreeSet<&String> = baseline.keys().chain(now.keys()).collect();
    for name in names {
        let (before, after) = (baseline.get(name), now.get(name));
        let (verdict, change) = match (before, after) {
            (Some(&before), Some(&after)) => {
                let percent = (after as f64 - before as f64) / before.max(1) as f64 * 100.0;
                let limit = tolerance(name, stranger);
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
        let within = costs(&[("read.instructions", 1030), ("rewrite.inserted-bytes", 1010), ("over", 0)]);
        assert!(compare(&before, &within, false).1.is_empty());
        let beyond = costs(&[("read.instructions", 1050), ("rewrite.inserted-bytes", 1011), ("over", 1)]);
        assert_eq!(
            compare(&before, &beyond, false).1,
            ["over", "read.instructions", "rewrite.inserted-bytes"]
        );
        // Another compiler may need more instructions, but not insert more.
        assert_eq!(compare(&before, &beyond, true).1, ["over", "rewrite.inserted-bytes"]);
        assert_eq!(compare(&before, &costs(&[("over", 0)]), false).1.len(), 2);
        // Not a cost: how much work was done.
        let (done, undone) = (costs(&[("rewrite.methods", 10_000)]), costs(&[("rewrite.methods", 9_999)]));
        assert_eq!(compare(&done, &undone, false).1, ["rewrite.methods"]);
    }

    #[test]
    fn baselines_survive_their_text() {
        let some = costs(&[("a.instructions", 12), ("b.bytes", 0)]);
        let text = baseline(&some, "1.95");
        assert_eq!((parse(&text), compiler_of(&text)), (some, Some("1.95")));
        assert_eq!(release("rustc 1.95.0 (59807616e 2026-04-14)").as_deref(), Some("1.95"));
        assert_eq!(release("rustc"), None);
    }

    #[test]
    fn figures_are_read_from_what_is_printed() {
        let mut found = Costs::new();
        figures("rewrite", "methods 7\nnot a figure\nleft 0\n", &mut found);
        assert_eq!(found, costs(&[("rewrite.methods", 7), ("rewrite.left", 0)]));
    }
}
