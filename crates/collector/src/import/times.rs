//! Times of the methods below a root, and what it took to take them, which is taken off: t = t_raw - t_I - m t_O, where t_I is
//! what measuring takes within a method, for each call of it, and t_O what it takes in its caller, for each of m calls
//! (Dmitriev's JFluid, [0085] and [0086]).

use std::collections::BTreeSet;

use quipu_arena::reader::Contents;
use quipu_classfile::mutf8;
use quipu_profile::{Builder, MetricId, MetricSpec, NO_NODE, NodeId, Profile, Unit};

use super::methods::OwnClock;

/// Elapsed time as the clock says.
const RAW: &str = "time.raw";
/// The same without what measuring took.
const TIME: &str = "time";
/// What measuring took.
const TAKEN: &str = "time.probes";
/// How far the time may be from what it would be if nothing was measured.
const ERROR: &str = "time.error";
/// How many methods were instrumented, and how many of them have run.
const INSTRUMENTED: &str = "root.instrumented";
const RAN: &str = "root.ran";

/// What taking times costs, in picoseconds a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Clock {
    within: u64,
    outside: u64,
    counted: u64,
    spread: u64,
    /// How far what was measured at the end is from that at the beginning.
    drift: u64,
    is_known: bool,
    /// Whether no clock was looked at: samples tell times.
    sampled: bool,
}

impl Clock {
    /// What the arena says.
    pub fn read(contents: &Contents<'_>) -> Clock {
        let cost = |key| contents.facts(key).filter_map(numbers).last();
        let sampled = contents.facts(b"root.time").last().is_some_and(|time| time == b"sampled");
        Clock { sampled, ..Clock::of(cost(b"root.cost.before"), cost(b"root.cost.after")) }
    }

    /// What was measured before and after. Other processes can only make it more: the lesser counts.
    fn of(before: Option<[u64; 4]>, after: Option<[u64; 4]>) -> Clock {
        let sum = |[within, outside, ..]: &[u64; 4]| within + outside;
        let least = [before, after].into_iter().flatten().min_by_key(sum);
        let Some([within, outside, counted, spread]) = least else { return Clock::default() };
        let drift = before.zip(after).map_or(0, |(before, after)| sum(&before).abs_diff(sum(&after)));
        Clock { within, outside, counted, spread, drift, is_known: true, sampled: false }
    }

    /// How far what a call takes may be from what was measured.
    fn uncertain(&self) -> u64 {
        self.spread.max(self.drift)
    }
}

/// Four numbers, none of which is beyond what a call can take.
fn numbers(text: &[u8]) -> Option<[u64; 4]> {
    const MOST: u64 = 1 << 32;
    let text = mutf8::decode(text);
    let mut numbers = text.split(' ').map(|number| number.parse().ok().filter(|&number| number < MOST));
    let mut next = || numbers.next().flatten();
    Some([next()?, next()?, next()?, next()?])
}

/// The metrics.
pub struct Times {
    calls: MetricId,
    by_clock: Option<ByClock>,
}

/// Those that there are if clocks were looked at.
#[derive(Clone, Copy)]
struct ByClock {
    raw: MetricId,
    taken: MetricId,
    error: MetricId,
}

impl Times {
    /// Adds them to a profile.
    pub fn declare(builder: &mut Builder, clock: &Clock) -> Times {
        let calls = builder.metric(MetricSpec::calls());
        let mut of = |name| builder.metric(MetricSpec::exact(name, Unit::Nanoseconds));
        let by_clock = (!clock.sampled).then(|| ByClock { raw: of(RAW), taken: of(TAKEN), error: of(ERROR) });
        Times { calls, by_clock }
    }

    /// Adds what a node has, and what it cost.
    pub fn add(
        &self,
        builder: &mut Builder,
        clock: &Clock,
        (calls, time): (u64, u64),
        own: OwnClock,
        here: NodeId,
        is_root: bool,
    ) {
        builder.add(here, self.calls, calls);
        let Some(ByClock { raw, taken, error }) = self.by_clock else { return };
        builder.add(here, raw, time);
        let (within, outside) = if own.0 { (clock.within, clock.outside) } else { (0, clock.counted) };
        builder.add(here, taken, nanos(calls, within));
        let uncertain = nanos(calls, clock.uncertain());
        if own.0 {
            builder.add(here, error, uncertain);
        }
        if !is_root {
            // What calls a root was never measured.
            let caller = builder.parent(here);
            builder.add(caller, taken, nanos(calls, outside));
            builder.add(caller, error, uncertain);
        }
    }
}

fn nanos(calls: u64, picos: u64) -> u64 {
    u64::try_from(u128::from(calls) * u128::from(picos) / 1000).unwrap_or(u64::MAX)
}

/// Adds `time`. A context that would have less than none owes the difference to its caller, as far as that has some: sums are
/// right, and what cannot be paid is told.
pub fn correct(profile: &mut Profile, clock: &Clock) {
    if profile.run.extra.iter().any(|(key, _)| key == INSTRUMENTED) {
        let ran = methods_that_ran(profile).to_string();
        profile.run.extra.push((RAN.to_owned(), ran));
    }
    let (Some(raw), Some(taken)) = (profile.metric(RAW), profile.metric(TAKEN)) else { return };
    let spec = MetricSpec { name: TIME.to_owned(), ..raw.spec().clone() };
    let mut owed = taken.values().to_vec();
    let mut times = raw.values().to_vec();
    let total: u64 = owed.iter().fold(0, |sum, &nanos| sum.saturating_add(nanos));
    let mut paid = 0u64;
    // Children stand behind their parents.
    for node in (0..times.len()).rev() {
        let pays = owed[node].min(times[node]);
        times[node] -= pays;
        paid = paid.saturating_add(pays);
        let parent = profile.tree().parents()[node];
        if parent != NO_NODE {
            owed[parent as usize] = owed[parent as usize].saturating_add(owed[node] - pays);
        }
    }
    profile.add_metric(spec, times);
    let cost = &mut profile.run.cost;
    if !clock.is_known {
        cost.push(
            "measuring took some of the times: the profile was over before it was known how much".to_owned(),
        );
        return;
    }
    let ns = |picos: u64| picos as f64 / 1e3;
    let Clock { within, outside, spread, drift, .. } = *clock;
    cost.push(format!(
        "measuring took {:.1} ms, {:.1} ns a call within it and {:.1} ns in its caller, +-{:.1} ns, which is taken off; \
         at the beginning and at the end that differed by {:.1} ns",
        total as f64 / 1e6,
        ns(within),
        ns(outside),
        ns(spread),
        ns(drift),
    ));
    if total > paid {
        cost.push(format!(
            "{:.1} ms of that are more than was measured, and not taken off: times this short are not known",
            (total - paid) as f64 / 1e6
        ));
    }
}

/// How many methods have calls.
fn methods_that_ran(profile: &Profile) -> usize {
    let Some(calls) = profile.metric("calls") else { return 0 };
    let called = profile.tree().methods().iter().zip(calls.values()).filter(|(_, calls)| **calls > 0);
    called.map(|(method, _)| *method).collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use quipu_profile::{MethodSpec, ThreadSpec, UNKNOWN_SITE};

    use super::*;

    /// A root that calls a method a thousand times, which takes 5 us as the clock says; and a clock that takes 1 ns in each.
    fn corrected(within: u64, outside: u64, is_known: bool) -> Profile {
        let mut builder = Builder::with_capacity(4);
        let clock = Clock { within, outside, counted: 0, spread: 500, drift: 300, is_known, sampled: false };
        let times = Times::declare(&mut builder, &clock);
        let thread = builder.thread(ThreadSpec::default());
        let mut method = |name| builder.method(MethodSpec { name, ..MethodSpec::default() });
        let (root, callee) = (method("root"), method("callee"));
        let thread = builder.root(thread);
        let root = builder.child(thread, root, UNKNOWN_SITE);
        let callee = builder.child(root, callee, UNKNOWN_SITE);
        for (node, calls, nanos) in [(root, 1, 8_000), (callee, 1000, 5_000)] {
            times.add(&mut builder, &clock, (calls, nanos), OwnClock(true), node, node == root);
        }
        let mut profile = builder.finish();
        correct(&mut profile, &clock);
        profile
    }

    fn total(profile: &Profile, metric: &str) -> u64 {
        profile.metric(metric).expect("it is there").total()
    }

    #[test]
    fn what_measuring_took_is_taken_off_and_told() {
        let profile = corrected(1_000, 2_000, true);
        assert_eq!([RAW, TAKEN, TIME].map(|metric| total(&profile, metric)), [13_000, 3_001, 9_999]);
        // Half a nanosecond for each call of the callee, in it and in the root.
        assert_eq!(profile.metric(ERROR).expect("errors").values(), [0, 500, 500]);
        assert_eq!(
            profile.run.cost,
            [
                "measuring took 0.0 ms, 1.0 ns a call within it and 2.0 ns in its caller, +-0.5 ns, which is taken off; at \
                 the beginning and at the end that differed by 0.3 ns"
            ]
        );
    }

    #[test]
    fn what_nobody_can_pay_is_told() {
        let profile = corrected(20_000, 20_000, true);
        assert_eq!(total(&profile, TIME), 0);
        assert!(profile.run.cost[1].contains("are more than was measured"), "{:?}", profile.run.cost);
    }

    #[test]
    fn a_profile_that_was_over_too_soon_says_so() {
        let profile = corrected(0, 0, false);
        assert_eq!(total(&profile, TIME), total(&profile, RAW));
        assert!(profile.run.cost[0].contains("before it was known how much"), "{:?}", profile.run.cost);
    }

    #[test]
    fn the_lesser_of_two_measurements_counts() {
        let (calm, busy) = ([20_000, 25_000, 1_000, 500], [140_000, 30_000, 9_000, 40_000]);
        for (before, after) in [(calm, busy), (busy, calm)] {
            let clock = Clock::of(Some(before), Some(after));
            assert_eq!(
                (clock.within, clock.outside, clock.spread, clock.drift),
                (20_000, 25_000, 500, 125_000)
            );
        }
        assert_eq!(Clock::of(None, Some(busy)).within, 140_000);
        assert!(!Clock::of(None, None).is_known);
    }

    #[test]
    fn costs_are_four_numbers_within_reason() {
        assert_eq!(numbers(b"1 2 3 4"), Some([1, 2, 3, 4]));
        assert_eq!(numbers(b"1 2 3"), None);
        assert_eq!(numbers(b"1 2 3 99999999999999"), None);
        assert_eq!(nanos(u64::MAX, 1 << 32), u64::MAX);
    }
}
