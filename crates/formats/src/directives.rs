//! Compiler directives of HotSpot, for `-XX:CompilerDirectivesFile`: what is to be inlined where, by a call graph.
//!
//! The decisions are those of Arnold and Grove's inliner (section 5). The size up to which a callee is inlined grows in proportion to the
//! weight of the call, up to a bound; of a site with several targets only those are considered that have a fair part of its
//! calls; what is seldom called is not inlined. Of samples, what they are sure of counts: a few are neither hot nor cold.
//!
//! HotSpot takes directives by the method that it compiles: a directive names what is inlined into one, however deep. It knows no call
//! sites, so what is hot at one site of a method is inlined at the others of the same method, too. HotSpot does not start
//! with a file that it cannot read, or that has no directives, or more than its limit: methods with unusual names are left
//! out, and where nothing remains, nothing is written.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use quipu_profile::{CallGraph, MethodId, MetricKind, Profile, UNKNOWN_SITE};

use crate::{ExportError, Options, jsontext};

/// HotSpot's own limits in bytes of code: what is inlined however seldom it is called, and what if it is called often.
const ALWAYS: f64 = 35.0;
const OFTEN: f64 = 325.0;
/// Larger methods are never asked for.
const LARGEST: f64 = 1_000.0;
/// The part of all calls with which a callee may have [`OFTEN`] bytes, and twice that with twice the part, and so on.
const OFTEN_IS: f64 = 0.01;
/// With a smaller part of all calls, nothing is asked for; with one that is smaller still, inlining is forbidden.
const HOT: f64 = 0.001;
const COLD: f64 = 0.000_01;
/// Samples never show so small a part of all calls. Of them, what is seldom is so among the calls of its caller; HotSpot itself
/// does not inline what fewer than 0.85 % of the caller's invocations come to.
const RARE: f64 = 0.005;
/// With fewer samples, nothing is asked for.
const FEWEST: f64 = 5.0;
/// A call takes more code than methods of this size, which HotSpot calls trivial.
const TRIVIAL: u32 = 6;
/// The part of a site's calls that a target must have.
const FAIR: f64 = 0.4;
/// So deep methods are inlined into each other.
const DEEPEST: u32 = 9;
/// `CompilerDirectivesLimit` is 50, and HotSpot has one itself.
const DIRECTIVES: usize = 49;
/// Names in one of them.
const NAMES: usize = 100;

/// What is said of a call, at whichever sites of the caller.
#[derive(Clone, Copy, PartialEq)]
enum Said {
    Inline,
    Leave,
    Forbid,
}

/// What a caller calls: the callee, what is said of it, and the calls.
type Callees = BTreeMap<MethodId, (Said, u64)>;

/// Writes directives for the methods that call most.
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), ExportError> {
    let callers = callers(profile, options)?;
    let hot = |callees: &Callees| -> u64 {
        let hot = callees.values().filter(|(said, _)| *said == Said::Inline);
        hot.fold(0, |sum, (_, calls)| sum.saturating_add(*calls))
    };
    let mut roots: Vec<(u64, MethodId)> = callers
        .iter()
        .map(|(&caller, callees)| (hot(callees), caller))
        .filter(|&(weight, _)| weight > 0)
        .collect();
    roots.sort_unstable_by_key(|&(weight, caller)| (std::cmp::Reverse(weight), caller));
    let directives = roots.iter().filter_map(|&(_, root)| {
        let name = pattern(profile, root)?;
        Some((name, inlined(profile, &callers, root))).filter(|(_, inline)| !inline.is_empty())
    });
    let mut directives = directives.take(DIRECTIVES).peekable();
    if directives.peek().is_none() {
        return Err(ExportError::NothingHot);
    }
    write!(out, "[")?;
    let mut first = true;
    for (name, inline) in directives {
        jsontext::comma(out, &mut first)?;
        write!(out, "\n  {{\n    \"match\": ")?;
        jsontext::strings(out, [name])?;
        write!(out, ",\n    \"c2\": {{ \"inline\": ")?;
        jsontext::strings(out, inline)?;
        write!(out, " }}\n  }}")?;
    }
    writeln!(out, "\n]")?;
    Ok(())
}

/// What weights of calls stand for.
struct Weights {
    /// All calls.
    all: f64,
    /// What one sample adds; `None` if every call was counted.
    sample: Option<f64>,
}

impl Weights {
    /// The part of all calls that a weight has at the least: of samples, two standard deviations below what was found. The square
    /// root of a number of samples has a standard deviation of a half, however many there are.
    fn least(&self, weight: u64) -> f64 {
        let weight = weight as f64;
        let least = match self.sample {
            None => weight,
            Some(sample) if weight < FEWEST * sample => 0.0,
            Some(sample) => sample * ((weight / sample).sqrt() - 1.0).powi(2),
        };
        least / self.all
    }

    /// Whether calls with this weight are seldom, of a caller that makes so many.
    fn is_cold(&self, weight: u64, of_caller: u64) -> bool {
        match self.sample {
            None => (weight as f64) < COLD * self.all,
            // The next sample might have been one of them: so many there are at the most.
            Some(sample) => {
                sample * ((weight as f64 / sample + 1.0).sqrt() + 1.0).powi(2) < RARE * of_caller as f64
            }
        }
    }
}

/// What is said of all calls, by caller and callee.
fn callers(profile: &Profile, options: &Options) -> Result<BTreeMap<MethodId, Callees>, ExportError> {
    let metric = match &options.metric {
        Some(_) => options.metric(profile)?,
        None => ["calls", "samples.calls"]
            .iter()
            .find_map(|name| profile.metric(name))
            .ok_or(ExportError::NoCalls)?,
    };
    let graph = profile.call_graph();
    let weights = profile.totals_by_edge(&graph, metric).own;
    let all: u64 = weights.iter().fold(0, |sum, &weight| sum.saturating_add(weight));
    let known = Weights {
        all: all as f64,
        sample: match metric.spec().kind {
            MetricKind::Exact => None,
            MetricKind::Sampled { period } => Some(period.max(1) as f64),
        },
    };
    let mut of_sites: BTreeMap<(MethodId, i32), u64> = BTreeMap::new();
    let mut of_callers: BTreeMap<MethodId, u64> = BTreeMap::new();
    let mut of_pairs: BTreeMap<(MethodId, MethodId), u64> = BTreeMap::new();
    for (edge, &weight) in graph.edges.iter().zip(&weights) {
        add(&mut of_sites, (edge.caller, edge.site), weight);
        add(&mut of_callers, edge.caller, weight);
        add(&mut of_pairs, (edge.caller, edge.callee), weight);
    }
    let sizes = sizes(profile, &graph);
    let mut callers: BTreeMap<MethodId, Callees> = BTreeMap::new();
    for (edge, &weight) in graph.edges.iter().zip(&weights) {
        let is_plain = |method| !profile.method(method).opaque() && !profile.method(method).is_detail();
        if weight == 0 || edge.caller == edge.callee || !is_plain(edge.caller) || !is_plain(edge.callee) {
            continue;
        }
        let of_site = of_sites.get(&(edge.caller, edge.site)).copied().unwrap_or(weight);
        // Where sites are not told apart, what all of them call says nothing of a single one.
        let is_fair = edge.site == UNKNOWN_SITE || weight as f64 >= FAIR * of_site as f64;
        let size = sizes.get(edge.callee as usize).copied().flatten();
        // Directives know no sites: seldom is what all sites of the caller together call seldom.
        let of = |sums: Option<&u64>| sums.copied().unwrap_or(weight);
        let is_cold =
            known.is_cold(of(of_pairs.get(&(edge.caller, edge.callee))), of(of_callers.get(&edge.caller)));
        let said = match size {
            Some(size) if is_fair => decide(known.least(weight), is_cold, size),
            _ => Said::Leave,
        };
        let callee = callers.entry(edge.caller).or_default().entry(edge.callee).or_insert((said, 0));
        callee.1 = callee.1.saturating_add(weight);
        // One hot site is enough; one of which nothing is said, too.
        if callee.0 != Said::Inline && said != Said::Forbid {
            callee.0 = said;
        }
    }
    Ok(callers)
}

fn add<K: Ord>(sums: &mut BTreeMap<K, u64>, key: K, weight: u64) {
    let sum = sums.entry(key).or_default();
    *sum = sum.saturating_add(weight);
}

/// What is said of a call that has this part of all calls, or is seldom, of a callee of this size.
fn decide(part: f64, is_cold: bool, size: u32) -> Said {
    let most = (ALWAYS + (OFTEN - ALWAYS) * part / OFTEN_IS).min(LARGEST);
    if is_cold && size > TRIVIAL {
        Said::Forbid
    } else if part >= HOT && f64::from(size) <= most {
        Said::Inline
    } else {
        Said::Leave
    }
}

/// How many bytes of code methods have at least: up to the last line, and the last call. `None` where neither is known.
fn sizes(profile: &Profile, graph: &CallGraph) -> Vec<Option<u32>> {
    let last_lines = profile.methods().iter().map(|method| method.lines.last().map(|line| line.bci + 1));
    let mut sizes: Vec<Option<u32>> = last_lines.collect();
    for edge in &graph.edges {
        if let (Some(size), Ok(site)) = (sizes.get_mut(edge.caller as usize), u32::try_from(edge.site)) {
            // An instruction that calls has three bytes.
            *size = Some(size.unwrap_or(0).max(site.saturating_add(3)));
        }
    }
    sizes
}

/// What is inlined into a method, and into what that is inlined, and what is not: `+a/B.c()V`, `-d/E.f()V`.
fn inlined(profile: &Profile, callers: &BTreeMap<MethodId, Callees>, root: MethodId) -> Vec<String> {
    let mut hot: Vec<MethodId> = Vec::new();
    let mut seen = BTreeSet::from([root]);
    let (mut left, mut cold) = (BTreeSet::new(), BTreeSet::new());
    let mut level = vec![root];
    for _ in 0..DEEPEST {
        let mut next: Vec<(u64, MethodId)> = Vec::new();
        for (&callee, &(said, calls)) in level.iter().filter_map(|caller| callers.get(caller)).flatten() {
            match said {
                Said::Inline if seen.insert(callee) => next.push((calls, callee)),
                Said::Inline => {}
                Said::Leave => drop(left.insert(callee)),
                Said::Forbid => drop(cold.insert(callee)),
            }
        }
        next.sort_unstable_by_key(|&(calls, callee)| (std::cmp::Reverse(calls), callee));
        level = next.into_iter().map(|(_, callee)| callee).collect();
        hot.extend(&level);
    }
    let named = |sign: &str, method| pattern(profile, method).map(|name| [sign, &name].concat());
    let hot = hot.into_iter().filter_map(|method| named("+", method));
    // A directive is of all callers in it: what one of them calls seldom, another may call as often as HotSpot is to judge.
    let spoken_for = |method: &MethodId| seen.contains(method) || left.contains(method);
    let cold = cold.into_iter().filter(|method| !spoken_for(method)).filter_map(|method| named("-", method));
    hot.chain(cold).take(NAMES).collect()
}

/// A method as directives name it. Not those that have letters which mean something there, or names that are other ones in
/// the next run.
fn pattern(profile: &Profile, method: MethodId) -> Option<String> {
    /// HotSpot reads 255 letters of each part.
    const LONGEST: usize = 200;
    let method = profile.method(method);
    let [class, name, descriptor] = [method.class, method.name, method.descriptor].map(|id| profile.str(id));
    let plain = |text: &str, more: &str| {
        text.len() <= LONGEST && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    let is_plain = plain(class, "_$.") && plain(name, "_$<>") && plain(descriptor, "_$/;[()<>");
    let is_hidden = class.contains("$$Lambda") || name.starts_with("lambda$");
    (is_plain && !is_hidden && !class.is_empty() && !name.is_empty() && !descriptor.is_empty())
        .then(|| [&class.replace('.', "/"), ".", name, descriptor].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use quipu_profile::{Builder, Line, MethodSpec, MetricSpec, ThreadSpec};

    #[test]
    fn the_size_that_is_inlined_grows_with_the_weight() {
        let largest =
            |part: f64| (1..2_000).take_while(|&size| decide(part, false, size) == Said::Inline).last();
        assert_eq!(largest(0.0009), None);
        assert_eq!(largest(0.001), Some(64));
        assert_eq!(largest(0.01), Some(325));
        assert_eq!(largest(0.02), Some(615));
        assert_eq!(largest(0.5), Some(1_000));
        assert!(decide(0.0, true, 7) == Said::Forbid && decide(0.0, true, 6) == Said::Leave);
    }

    /// What counts say for certain, few samples do not: one of 200 is not hot, and one of 3,000 may be cold.
    #[test]
    fn samples_say_what_they_are_sure_of() {
        let weights = |sample, all| Weights { all, sample };
        let counted = weights(None, 1e6);
        assert!(counted.least(1_000) >= HOT && counted.is_cold(9, 9) && !counted.is_cold(10, 1_000_000));
        for sample in [1.0, 1_000.0] {
            let samples = |n: u64| n * sample as u64;
            let few = weights(Some(sample), 200.0 * sample);
            assert!(few.least(samples(4)) < HOT && few.least(samples(5)) >= HOT);
            assert!(!few.is_cold(samples(1), samples(200)));
            let many = weights(Some(sample), 3_000.0 * sample);
            // Two standard deviations below 8 samples are 3.34, which is more than a thousandth.
            assert!(many.least(samples(7)) < HOT && many.least(samples(8)) >= HOT);
            assert!(!many.is_cold(samples(1), samples(1_000)) && many.is_cold(samples(1), samples(2_000)));
            assert!(!many.is_cold(samples(4), samples(2_000)));
        }
    }

    /// The same graph as [`profile`], sampled: `cold` has 5 of 3,000,005 calls, and one of 3,000 samples.
    #[test]
    fn what_samples_show_seldom_is_not_inlined() {
        let rows = |cold| {
            [
                ("main", "", 50, UNKNOWN_SITE, 0),
                ("hot", "main", 100, 3, 1_000),
                ("deep", "hot", 20, 1, 2_000),
                ("once", "deep", 20, 1, 1),
                ("cold", "hot", 40, 9, cold),
            ]
        };
        let sampled = || MetricSpec::sampled("samples.calls", quipu_profile::Unit::Count, 1);
        let of_hot = |cold| exported(&tree(sampled(), rows(cold))).unwrap()[0]["c2"]["inline"].clone();
        assert_eq!(of_hot(1), serde_json::json!(["+a/B.deep()V", "-a/B.cold()V"]));
        assert_eq!(of_hot(4), serde_json::json!(["+a/B.deep()V"]));
    }

    /// `main` calls `hot`, which calls `deep` and, from one site, three targets in the proportion 6 : 3 : 1, and seldom `cold`.
    fn profile() -> Profile {
        let main = ("main", "", 50, UNKNOWN_SITE, 1);
        let hot = ("hot", "main", 100, 3, 1_000_000);
        let called = [
            ("deep", "hot", 20, 1, 1_000_000),
            ("first", "hot", 20, 7, 600_000),
            ("second", "hot", 20, 7, 300_000),
            ("third", "hot", 20, 7, 100_000),
            ("cold", "hot", 40, 9, 5),
            ("huge", "hot", 5_000, 12, 1_000_000),
            ("lambda$0", "hot", 5, 15, 1_000_000),
        ];
        tree(MetricSpec::calls(), [main, hot].into_iter().chain(called))
    }

    /// `main` calls `hot`, and `rare` as often as said; `hot` calls `deep`, and once `rare`.
    fn with_warm(calls: u64) -> Profile {
        let rows = [
            ("main", "", 50, UNKNOWN_SITE, 1),
            ("hot", "main", 100, 3, 1_000_000),
            ("deep", "hot", 20, 1, 1_000_000),
            ("rare", "hot", 40, 9, 1),
            ("rare", "main", 40, 9, calls),
        ];
        tree(MetricSpec::calls(), rows)
    }

    /// Methods of one thread: the name, that of the caller before it, the index of the last line, the site, and the calls.
    fn tree<'a>(
        metric: MetricSpec,
        rows: impl IntoIterator<Item = (&'a str, &'a str, u32, i32, u64)>,
    ) -> Profile {
        let mut b = Builder::new();
        let metric = b.metric(metric);
        let thread = b.thread(ThreadSpec { name: "main", ..Default::default() });
        let mut nodes = BTreeMap::from([("", b.root(thread))]);
        for (name, caller, last, site, count) in rows {
            let lines = [Line { bci: 0, line: 1 }, Line { bci: last, line: 2 }];
            let spec =
                MethodSpec { class: "a.B", name, descriptor: "()V", lines: &lines, ..Default::default() };
            let method = b.method(spec);
            let node = b.child(nodes[caller], method, site);
            b.add(node, metric, count);
            nodes.insert(name, node);
        }
        b.finish()
    }

    #[test]
    fn hot_calls_are_inlined_and_cold_ones_are_not() {
        let mut out = Vec::new();
        write(&profile(), &Options::default(), &mut out).unwrap();
        let found: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let expected = serde_json::json!([
            { "match": ["a/B.hot()V"], "c2": { "inline": ["+a/B.deep()V", "+a/B.first()V", "-a/B.cold()V"] } },
            { "match": ["a/B.main()V"],
              "c2": { "inline": ["+a/B.hot()V", "+a/B.deep()V", "+a/B.first()V", "-a/B.cold()V"] } },
        ]);
        assert_eq!(found, expected);
    }

    /// `hot` hardly ever calls what `main` calls now and then.
    #[test]
    fn what_another_caller_leaves_to_the_compiler_is_not_forbidden() {
        let found = exported(&with_warm(500)).unwrap();
        assert_eq!(found[0]["c2"]["inline"], serde_json::json!(["+a/B.deep()V", "-a/B.rare()V"]));
        assert_eq!(found[1]["c2"]["inline"], serde_json::json!(["+a/B.hot()V", "+a/B.deep()V"]));
    }

    /// Methods of these names call another, as often as said.
    fn callers_of_one<'a>(names: impl IntoIterator<Item = (&'a str, u64)>) -> Profile {
        let rows = names
            .into_iter()
            .flat_map(|(name, calls)| [(name, "", 20, UNKNOWN_SITE, 0), ("callee", name, 20, 3, calls)]);
        tree(MetricSpec::calls(), rows)
    }

    fn exported(profile: &Profile) -> Result<serde_json::Value, ExportError> {
        let mut out = Vec::new();
        write(profile, &Options::default(), &mut out)?;
        Ok(serde_json::from_slice(&out).expect("JSON"))
    }

    /// Names that cannot be written take no place of those that can.
    #[test]
    fn as_many_as_the_compiler_takes_are_written() {
        let names: Vec<String> =
            (0..120).map(|i| if i < 50 { format!("lambda$m${i}") } else { format!("m{i}") }).collect();
        // The hottest come first.
        let profile = callers_of_one(names.iter().zip(0..).map(|(name, i)| (name.as_str(), 1_000 - i)));
        let found = exported(&profile).unwrap();
        let matched: Vec<&str> =
            found.as_array().unwrap().iter().map(|one| one["match"][0].as_str().unwrap()).collect();
        let expected: Vec<String> = names[50..99].iter().map(|name| format!("a/B.{name}()V")).collect();
        assert_eq!(matched, expected);
    }

    /// HotSpot does not start with an empty list.
    #[test]
    fn nothing_is_written_where_nothing_is_to_be_said() {
        let nothing = |profile: &Profile| match exported(profile) {
            Err(ExportError::NothingHot) => {}
            other => panic!("{other:?}"),
        };
        nothing(&callers_of_one([("lambda$one", 10)]));
        // All calls are as seldom.
        let names: Vec<String> = (0..2_000).map(|i| format!("m{i}")).collect();
        nothing(&callers_of_one(names.iter().map(|name| (name.as_str(), 1))));
        nothing(&callers_of_one([]));
        let told = ExportError::NothingHot.to_string();
        assert!(told.contains("no call is hot enough") && told.contains("--calls exhaustive"), "{told}");
    }

    #[test]
    fn without_calls_there_is_nothing_to_go_by() {
        let mut b = Builder::new();
        b.metric(MetricSpec::bytecodes());
        let error = write(&b.finish(), &Options::default(), &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("--calls"), "{error}");
    }
}
