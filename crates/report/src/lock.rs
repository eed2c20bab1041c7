//! Locks: how often and how long threads waited for each, where, and where it was held meanwhile. Those of a class come together,
//! with their sums above them: what is acquired is known by class, what is waited for by lock.

use crate::json::Report;
use crate::number::{grouped, in_unit};
use crate::style::Style;
use crate::table::printable;
use crate::{Options, ReportError, pattern};
use quipu_profile::{NO_METHOD, NO_NODE, NodeId, Profile, StrId, Unit};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

const LIMIT: usize = 30;

const PERCENTILES: [(&str, usize); 3] = [("p50", 50), ("p90", 90), ("p99", 99)];

/// The locks of a class, or one of them.
struct Row {
    /// The class that programs know: of a `ReentrantLock`, threads wait for a class inside of it.
    group: String,
    class: String,
    /// Its identity, as `@hash`; empty for a class, and for those of it that were too many to tell apart.
    identity: String,
    /// How many locks of the class threads waited for, as far as they were told apart; `None` for one of several.
    locks: Option<u64>,
    count: u64,
    total: u64,
    /// How often it was acquired, waited for or not, and how long it was held in all; where every lock is counted.
    entered: u64,
    hold: u64,
    /// Where it is acquired most often.
    user: Option<String>,
    waits: Waits,
    waiter: Option<String>,
    holder: Option<String>,
}

/// How long single waits were, in order.
struct Waits(Vec<u64>);

impl Waits {
    fn of(mut lengths: Vec<u64>) -> Waits {
        lengths.sort_unstable();
        Waits(lengths)
    }

    fn longest(&self) -> u64 {
        self.0.last().copied().unwrap_or(0)
    }

    /// The shortest of those that so many of a hundred are not longer than.
    fn percentile(&self, percent: usize) -> u64 {
        self.0.get((self.0.len() * percent).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0)
    }

    /// How many were below each power of two of nanoseconds and not below the one before, the shortest first; those between that
    /// have none are there.
    fn histogram(&self) -> Vec<(u64, u64)> {
        let mut buckets: BTreeMap<u32, u64> = BTreeMap::new();
        for &length in &self.0 {
            *buckets.entry(u64::BITS - length.leading_zeros()).or_default() += 1;
        }
        let (Some(&first), Some(&last)) = (buckets.keys().next(), buckets.keys().next_back()) else {
            return Vec::new();
        };
        let below = |bits: u32| 1_u64.checked_shl(bits).unwrap_or(u64::MAX);
        (first..=last).map(|bits| (below(bits), buckets.get(&bits).copied().unwrap_or(0))).collect()
    }

    /// The histogram as a row of bars.
    fn bars(&self) -> String {
        const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let buckets = self.histogram();
        let most = buckets.iter().map(|&(_, count)| count).max().unwrap_or(0).max(1);
        let bar = |&(_, count): &(u64, u64)| match count {
            0 => ' ',
            _ => BARS[usize::try_from((count * 8).div_ceil(most)).unwrap_or(8).clamp(1, 8) - 1],
        };
        buckets.iter().map(bar).collect()
    }
}

fn rows(profile: &Profile, options: &Options) -> Result<Vec<Row>, ReportError> {
    let nothing = || ReportError::Nothing { what: "lock", kind: "--locks" };
    let values = |name: &str| profile.metric(name).map(|metric| metric.values());
    let (time, entered) = (values("lock.time"), values("lock.entered"));
    if time.or(entered).is_none() {
        return Err(nothing());
    }
    let (counts, blocked) = (values("lock.count"), values("lock.blocked"));
    let tree = profile.tree();
    let mut nodes: BTreeMap<(StrId, StrId), Vec<NodeId>> = BTreeMap::new();
    for (node, &method) in (0..).zip(tree.methods()).filter(|(_, method)| **method != NO_METHOD) {
        let method = profile.method(method);
        if method.is_detail() && profile.str(method.name) == "[lock]" {
            nodes.entry((method.class, method.descriptor)).or_default().push(node);
        }
    }
    let mut waits: BTreeMap<NodeId, Vec<u64>> = BTreeMap::new();
    let metric = profile.metric_id("lock.time");
    for sample in profile.samples().iter().filter(|sample| Some(sample.metric) == metric) {
        waits.entry(sample.node).or_default().push(sample.value);
    }
    let row = |class: &str, identity: &str, nodes: &[NodeId]| {
        let sum = |values: &[u64]| nodes.iter().map(|&node| values[node as usize]).sum::<u64>();
        let lengths = nodes.iter().filter_map(|node| waits.get(node)).flatten().copied().collect();
        Row {
            group: group(class).to_owned(),
            class: class.to_owned(),
            identity: identity.to_owned(),
            locks: None,
            count: counts.map_or(0, sum),
            total: time.map_or(0, sum),
            entered: entered.map_or(0, sum),
            hold: values("lock.hold").map_or(0, sum),
            user: entered.and_then(|entered| heaviest(profile, nodes, entered)),
            waits: Waits::of(lengths),
            waiter: time.and_then(|time| heaviest(profile, nodes, time)),
            holder: blocked.and_then(|blocked| heaviest(profile, nodes, blocked)),
        }
    };
    let by_weight = |row: &Row| std::cmp::Reverse((row.total, row.hold, row.entered));
    let mut groups: BTreeMap<&str, Vec<(StrId, StrId)>> = BTreeMap::new();
    for &(class, identity) in nodes.keys() {
        groups.entry(group(profile.str(class))).or_default().push((class, identity));
    }
    let wanted = |name: &str, locks: &[(StrId, StrId)]| {
        let mut names = locks.iter().map(|&(class, _)| profile.str(class)).chain([name]);
        options.filter.as_ref().is_none_or(|filter| names.any(|name| pattern::wants(filter, name)))
    };
    let mut found: Vec<Vec<Row>> = Vec::new();
    for (name, locks) in groups.iter().filter(|(name, locks)| wanted(name, locks)) {
        let one = |&(class, identity): &(StrId, StrId)| {
            row(profile.str(class), profile.str(identity), &nodes[&(class, identity)])
        };
        let mut below: Vec<Row> = locks.iter().map(one).filter(|row| row.count > 0).collect();
        below.sort_by_key(by_weight);
        let known = below.iter().filter(|row| !row.identity.is_empty()).count() as u64;
        let all: Vec<NodeId> = locks.iter().flat_map(|lock| &nodes[lock]).copied().collect();
        let mut whole = row(name, "", &all);
        if whole.entered == 0 && below.len() == 1 {
            whole = below.remove(0);
        }
        whole.locks = Some(known);
        // Without identities there is nothing that the class does not say.
        if known == 0 {
            below.clear();
        }
        below.insert(0, whole);
        found.push(below);
    }
    found.retain(|rows| rows[0].count > 0 || rows[0].entered > 0);
    found.sort_by_key(|rows| by_weight(&rows[0]));
    if found.is_empty() && options.filter.is_some() {
        let filter = options.filter.as_deref().unwrap_or_default();
        return Err(ReportError::unknown("lock", filter, groups.keys().copied()));
    }
    Ok(found.into_iter().flatten().collect())
}

/// The class that programs know of a lock's.
fn group(class: &str) -> &str {
    const INSIDE: [&str; 5] = ["$NonfairSync", "$FairSync", "$Sync", "$ReadLock", "$WriteLock"];
    let outer = INSIDE.iter().find_map(|inner| class.strip_suffix(inner));
    outer.filter(|_| class.starts_with("java.util.concurrent.")).unwrap_or(class)
}

/// The method where most is, and the first one above it that is not the JDK's.
fn heaviest(profile: &Profile, nodes: &[NodeId], values: &[u64]) -> Option<String> {
    let tree = profile.tree();
    let mut by_method: BTreeMap<u32, u64> = BTreeMap::new();
    for &node in nodes.iter().filter(|&&node| values[node as usize] > 0) {
        let mut at = tree.parents()[node as usize];
        let mut found = None;
        while at != NO_NODE && tree.methods()[at as usize] != NO_METHOD {
            let method = tree.methods()[at as usize];
            found = found.or(Some(method));
            let class = profile.str(profile.method(method).class);
            if !["java.", "jdk.", "sun."].iter().any(|package| class.starts_with(package)) {
                found = Some(method);
                break;
            }
            at = tree.parents()[at as usize];
        }
        // What is told of a thread alone has no method above it.
        let Some(method) = found else { continue };
        *by_method.entry(method).or_default() += values[node as usize];
    }
    let (&method, _) = by_method.iter().max_by_key(|(_, value)| **value)?;
    Some(profile.method_name(method))
}

pub(crate) fn json(profile: &Profile, options: &Options, out: &mut dyn io::Write) -> Result<(), ReportError> {
    let rows = rows(profile, options)?;
    let entered = profile.metric("lock.entered").is_some();
    let mut metrics = vec!["lock.count".to_owned(), "lock.time".to_owned()];
    if entered {
        metrics.extend(["lock.entered".to_owned(), "lock.hold".to_owned()]);
    }
    let mut report = Report::new(out, "lock", &metrics)?;
    for row in rows.iter().take(options.limit.unwrap_or(usize::MAX)) {
        report.row(|object| {
            object.text("group", &row.group)?;
            object.text("class", &row.class)?;
            object.text("identity", &row.identity)?;
            match row.locks {
                Some(locks) => object.int("locks", locks)?,
                None => object.null("locks")?,
            }
            object.int("lock.count", row.count)?;
            object.int("lock.time", row.total)?;
            if entered {
                object.int("lock.entered", row.entered)?;
                object.int("lock.hold", row.hold)?;
            }
            object.int("max", row.waits.longest())?;
            for (name, percent) in PERCENTILES {
                object.int(name, row.waits.percentile(percent))?;
            }
            object.objects("histogram", row.waits.histogram(), |bucket, (below, count)| {
                bucket.int("below", below)?;
                bucket.int("count", count)
            })?;
            for (key, method) in [("waiter", &row.waiter), ("holder", &row.holder), ("user", &row.user)] {
                match method {
                    Some(method) => object.text(key, method)?,
                    None => object.null(key)?,
                }
            }
            Ok(())
        })?;
    }
    Ok(report.finish()?)
}

pub(crate) fn text(profile: &Profile, options: &Options, style: &Style) -> Result<String, ReportError> {
    /// Of what is told of one lock.
    const INDENT: usize = 10;
    let rows = rows(profile, options)?;
    let limit = options.limit.unwrap_or(LIMIT);
    let time = |nanos| in_unit(nanos, &Unit::Nanoseconds);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:>10} {:>9} {:>10} {:>10} {:>10} {:>10}  lock",
        "lock.time", "count", "p50", "p90", "p99", "max"
    );
    let mut line = |text: &str| {
        out.extend(printable(text).chars().take(style.width.unwrap_or(usize::MAX)));
        out.push('\n');
    };
    let is_only = |at: usize| rows[at].locks == Some(1) && rows[at].identity.is_empty();
    for (at, row) in rows.iter().enumerate().take(limit) {
        // The only lock of a class that was waited for has nothing that the class has not.
        if row.locks.is_none()
            && !row.identity.is_empty()
            && is_only(at - 1)
            && rows[at - 1].total == row.total
        {
            continue;
        }
        let inside = row.class.strip_prefix(row.group.as_str()).unwrap_or_default();
        let name = match row.locks {
            Some(_) => format!("{}{}", row.class, row.identity),
            None if row.identity.is_empty() => format!("  {inside} others"),
            None => format!("  {inside}{}", row.identity),
        };
        let mut numbers = format!("{:>10} {:>9}", time(row.total), grouped(row.count));
        for (_, percent) in PERCENTILES {
            let _ = write!(numbers, " {:>10}", time(row.waits.percentile(percent)));
        }
        let _ = write!(numbers, " {:>10}", time(row.waits.longest()));
        // The end of a name tells more than its beginning.
        let room = style.width.map_or(usize::MAX, |width| width.saturating_sub(numbers.len() + 2));
        let over = name.chars().count().saturating_sub(room);
        let name = match over {
            0 => name,
            _ => format!("...{}", name.chars().skip(over + 3).collect::<String>()),
        };
        line(&format!("{numbers}  {name}"));
        if row.entered > 0 {
            let (times, hold) = (grouped(row.entered), time(row.hold));
            let most = row.user.as_ref().map_or(String::new(), |user| format!(", most often in {user}"));
            line(&format!("{:INDENT$}  acquired {times} times, held for {hold}{most}", ""));
        }
        for (words, method) in [("waited for in", &row.waiter), ("held in", &row.holder)] {
            if let Some(method) = method {
                line(&format!("{:INDENT$}  {words} {method}", ""));
            }
        }
        if let [(below, _), .., (most, _)] = row.waits.histogram()[..] {
            let bars = row.waits.bars();
            line(&format!(
                "{:INDENT$}  waits {bars} from {} to {}, doubling",
                "",
                time(below / 2),
                time(most)
            ));
        }
        if is_only(at)
            && let Some(only) = rows.get(at + 1).filter(|only| only.total == row.total)
        {
            let inside = only.class.strip_prefix(row.group.as_str()).unwrap_or_default();
            line(&format!("{:INDENT$}  one of them was waited for: {inside}{}", "", only.identity));
        }
        if let Some(locks @ 2..) = row.locks {
            line(&format!("{:INDENT$}  {} of them were waited for, those that follow", "", grouped(locks)));
        }
    }
    if rows.len() > limit {
        line(&format!("... {} rows more", rows.len() - limit));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::Waits;

    #[test]
    fn waits_have_percentiles_and_a_histogram() {
        let waits = Waits::of((1..=100).map(|i| i * 1000).chain([1_000_000]).collect());
        assert_eq!(
            (waits.percentile(50), waits.percentile(90), waits.longest()),
            (51_000, 91_000, 1_000_000)
        );
        let histogram = waits.histogram();
        assert_eq!(histogram.first(), Some(&(1024, 1)), "one of 1,000 ns");
        assert_eq!(histogram.last(), Some(&(1 << 20, 1)));
        assert_eq!(histogram.iter().map(|(_, count)| count).sum::<u64>(), 101);
        assert_eq!(histogram.len(), 11, "those without waits are there: {histogram:?}");
        assert_eq!(waits.bars().chars().count(), 11);
        assert!(Waits::of(Vec::new()).histogram().is_empty());
    }
}
