//! How long executions of roots took: leaves below the root, one for each range of times in which there are some.

use std::collections::HashMap;

use quipu_arena::layout::ledger;
use quipu_arena::reader::{Contents, Entry};
use quipu_classfile::mutf8;
use quipu_profile::{
    Aggregation, Builder, MethodFlags, MethodSpec, MetricId, MetricSpec, UNKNOWN_SITE, Unit,
};

use super::budget::Budget;
use super::methods::Methods;
use super::nodes::Placed;

/// How many executions there are in a range.
const EXECUTIONS: &str = "executions";
/// What they took.
const GROSS: &str = "time.gross";
/// What the leaves are called; their class is the shortest time of the range.
const LEAF: &str = "[took]";
/// Above the last range that a time can be in.
const RANGES: u32 = 64 * ledger::RANGES;

/// Puts them into the builder.
pub struct Executions {
    metrics: Option<(MetricId, MetricId)>,
    /// Parts of methods, by number.
    regions: HashMap<u32, String>,
}

impl Executions {
    /// None so far; parts of methods have the names that the arena tells.
    pub fn new(contents: &Contents<'_>) -> Executions {
        let region = |text: &[u8]| {
            let text = mutf8::decode(text);
            let (number, name) = text.split_once(' ')?;
            Some((number.parse::<u32>().ok()?, name.to_owned()))
        };
        Executions { metrics: None, regions: contents.facts(b"root.region").filter_map(region).collect() }
    }

    /// The range that an entry of a ledger counts executions of, if it is such, with the number of the region above it.
    pub fn range(entry: &Entry) -> Option<u32> {
        (entry.site & ledger::EXECUTIONS != 0).then_some(entry.site & !ledger::EXECUTIONS)
    }

    /// Adds what an entry has counted.
    pub fn add(
        &mut self,
        contents: &Contents<'_>,
        methods: &Methods,
        placed: &Placed,
        (entry, range): (&Entry, u32),
        builder: &mut Builder,
        budget: &mut Budget,
    ) {
        let (region, range) = (range >> ledger::REGION_SHIFT, range & ((1 << ledger::REGION_SHIFT) - 1));
        let place = placed.publisher(contents, methods, entry.slot).filter(|_| range < RANGES);
        let Some((context, Some(root), _)) = place.filter(|_| budget.take()) else {
            return budget.refuse();
        };
        // Below itself it is part of an execution that counts.
        if builder.is_below(context.node, root) {
            return;
        }
        let (executions, gross) = *self.metrics.get_or_insert_with(|| {
            let count =
                MetricSpec { aggregation: Aggregation::Count, ..MetricSpec::exact(EXECUTIONS, Unit::Count) };
            (builder.metric(count), builder.metric(MetricSpec::exact(GROSS, Unit::Nanoseconds)))
        });
        let shortest = format!("{} ns", ledger::shortest(range));
        let leaf = builder.method(MethodSpec {
            class: &shortest,
            name: LEAF,
            flags: MethodFlags::DETAIL,
            ..MethodSpec::default()
        });
        let of = match self.regions.get(&region) {
            Some(name) => {
                let region =
                    builder.method(MethodSpec { name, flags: MethodFlags::DETAIL, ..MethodSpec::default() });
                builder.child(context.node, region, UNKNOWN_SITE)
            }
            None => context.node,
        };
        let leaf = builder.child(of, leaf, UNKNOWN_SITE);
        builder.add(leaf, executions, entry.count);
        builder.add(leaf, gross, entry.value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the runtime numbers ranges.
    fn range(nanos: u64) -> u32 {
        let mut doubled = 0;
        while nanos >> doubled >= 64 {
            doubled += 1;
        }
        doubled * 32 + (nanos >> doubled) as u32
    }

    #[test]
    fn a_range_is_at_most_a_32nd_of_its_times_wide() {
        for nanos in (0..5_000).chain([1_000_000, 33_554_431, 33_554_432, u64::MAX >> 2]) {
            let (from, to) = (ledger::shortest(range(nanos)), ledger::shortest(range(nanos) + 1));
            assert!((from..to).contains(&nanos), "{nanos}: {from} to {to}");
            assert!(to - from <= (from / 32).max(1), "{nanos}: {from} to {to}");
        }
        // Whatever an arena says.
        for range in (0..RANGES).chain([u32::MAX]) {
            ledger::shortest(range);
        }
    }
}
