//! "Did you mean": the names nearest to one that was not found.

/// Up to `limit` of the candidates, nearest first. Those that contain the wanted text (in any case) come before those that
/// differ by few letters; the rest are left out.
pub fn nearest<'a>(
    wanted: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    limit: usize,
) -> Vec<&'a str> {
    let low = wanted.to_lowercase();
    let allowed = (low.chars().count() / 3).max(2);
    let mut found: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|name| {
            let candidate = name.to_lowercase();
            let inside = !low.is_empty()
                && (candidate.contains(&low) || (candidate.len() > 2 && low.contains(&candidate)));
            if inside {
                return Some((0, name));
            }
            // People leave packages out: compare with as many of the last parts as were given.
            let given = low.split('.').count();
            let start = candidate.rmatch_indices('.').nth(given - 1).map_or(0, |(at, _)| at + 1);
            let distance =
                distance(&low, &candidate, allowed).min(distance(&low, &candidate[start..], allowed));
            (distance <= allowed).then_some((distance, name))
        })
        .collect();
    found.sort_by_key(|&(distance, name)| (distance, name.len(), name));
    found.dedup_by_key(|found| found.1);
    found.truncate(limit);
    found.into_iter().map(|(_, name)| name).collect()
}

/// Levenshtein distance; more than `limit` when the lengths alone say so.
fn distance(a: &str, b: &str, limit: usize) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > limit {
        return limit + 1;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_and_shortened_names_are_found() {
        let names = ["bytecodes", "calls", "alloc.bytes", "alloc.count"];
        assert_eq!(nearest("bytecode", names, 3), ["bytecodes"]);
        assert_eq!(nearest("cals", names, 3), ["calls"]);
        assert_eq!(nearest("alloc", names, 3), ["alloc.bytes", "alloc.count"]);
        assert_eq!(nearest("zzzzzz", names, 3), [""; 0]);
        assert_eq!(nearest("sun", ["Foo.sum", "Bar.run"], 1), ["Bar.run"]);
    }
}
