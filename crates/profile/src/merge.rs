//! Many profiles in one; many threads in one.

use crate::names::Names;
use crate::transform::Import;
use crate::{Builder, Meta, MetricKind, MetricSpec, Profile, Run, ThreadKind, ThreadSpec};
use thiserror::Error;

/// Two profiles that cannot be one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the profiles cannot be merged: {metric} is {first} in one and {second} in another")]
pub struct MergeError {
    /// The metric they disagree on.
    pub metric: String,
    /// What it is in one of them.
    pub first: String,
    /// What it is in another.
    pub second: String,
}

impl Profile {
    /// One profile with everything that is in the parts: equal contexts add up. The order of the parts does not matter.
    /// Metadata on which parts disagree is left out; what they lost adds up.
    pub fn merge(parts: &[&Profile]) -> Result<Profile, MergeError> {
        let mut builder = Builder::with_capacity(parts.iter().map(|part| part.tree.len()).sum());
        for spec in merged_metrics(parts)? {
            builder.metric(spec);
        }
        for part in parts {
            let mut import = Import::new(&mut builder, part, Names::Exact);
            import.threads(&mut builder, |_| true);
            import.place_all(&mut builder, true);
            import.carry(&mut builder);
        }
        builder.meta = agreed_meta(parts);
        builder.run = agreed_run(parts);
        Ok(builder.finish())
    }

    /// All threads in one tree.
    pub fn merge_threads(&self) -> Profile {
        let mut builder = self.emptied();
        let mut import = Import::new(&mut builder, self, Names::Exact);
        let threads = self.threads.iter().fold(0u64, |sum, thread| sum.saturating_add(thread.threads));
        let all =
            builder.thread(ThreadSpec { name: "all", kind: ThreadKind::Root, threads, ..Default::default() });
        import.threads_into(all);
        import.place_all(&mut builder, true);
        import.carry(&mut builder);
        builder.finish()
    }

    /// Threads that `rename` gives the same name share a tree; [`thread_pattern`](crate::thread_pattern) folds pools.
    pub fn fold_threads(&self, rename: impl Fn(&str) -> String) -> Profile {
        let mut builder = self.emptied();
        let mut import = Import::new(&mut builder, self, Names::Exact);
        for (slot, thread) in import.threads.iter_mut().zip(&self.threads) {
            let labels: Vec<_> = thread.labels.iter().map(|&(k, v)| (self.str(k), self.str(v))).collect();
            *slot = builder.thread(ThreadSpec {
                name: &rename(self.str(thread.name)),
                group: self.str(thread.group),
                kind: thread.kind,
                threads: thread.threads,
                labels: &labels,
            });
        }
        import.place_all(&mut builder, true);
        import.carry(&mut builder);
        builder.finish()
    }

    /// Contexts that differ only in the call site become one.
    pub fn without_sites(&self) -> Profile {
        let mut builder = self.emptied();
        let mut import = Import::new(&mut builder, self, Names::Exact);
        import.threads(&mut builder, |_| true);
        import.place_all(&mut builder, false);
        import.carry(&mut builder);
        builder.finish()
    }

    /// Generated names replaced by where they come from, see [`class_origin`](crate::class_origin).
    pub fn with_origin_names(&self) -> Profile {
        let mut builder = self.emptied();
        let mut import = Import::new(&mut builder, self, Names::ByOrigin);
        import.threads(&mut builder, |_| true);
        import.place_all(&mut builder, true);
        import.carry(&mut builder);
        builder.finish()
    }

    fn emptied(&self) -> Builder {
        let mut builder = Builder::with_capacity(self.tree.len());
        (builder.meta, builder.run) = (self.meta.clone(), self.run.clone());
        builder
    }
}

fn merged_metrics(parts: &[&Profile]) -> Result<Vec<MetricSpec>, MergeError> {
    let mut specs: Vec<MetricSpec> = Vec::new();
    for spec in parts.iter().flat_map(|part| part.metrics.iter().map(|metric| &metric.spec)) {
        let Some(known) = specs.iter_mut().find(|known| known.name == spec.name) else {
            specs.push(spec.clone());
            continue;
        };
        let exact = |spec: &MetricSpec| spec.kind == MetricKind::Exact;
        if (&known.unit, known.aggregation, exact(known)) != (&spec.unit, spec.aggregation, exact(spec)) {
            let mut both = [describe(known), describe(spec)];
            both.sort();
            let [first, second] = both;
            return Err(MergeError { metric: spec.name.clone(), first, second });
        }
        // The longer period of two: the error estimate stays on the safe side.
        if let (MetricKind::Sampled { period: a }, MetricKind::Sampled { period: b }) =
            (known.kind, spec.kind)
        {
            known.kind = MetricKind::Sampled { period: a.max(b) };
        }
    }
    Ok(specs)
}

fn describe(spec: &MetricSpec) -> String {
    let kind = if spec.kind == MetricKind::Exact { "exact" } else { "sampled" };
    format!("{kind} {} ({:?})", spec.unit.as_str(), spec.aggregation).to_lowercase()
}

/// What all parts say alike; the default where they differ.
fn agreed<T: Clone + PartialEq + Default>(parts: &[&Profile], get: impl Fn(&Profile) -> &T) -> T {
    let Some((first, rest)) = parts.split_first() else { return T::default() };
    let value = get(first);
    if rest.iter().all(|part| get(part) == value) { value.clone() } else { T::default() }
}

fn agreed_meta(parts: &[&Profile]) -> Meta {
    let mut meta = Meta {
        target: agreed(parts, |part| &part.meta.target),
        jvm: agreed(parts, |part| &part.meta.jvm),
        options: agreed(parts, |part| &part.meta.options),
        pins: agreed(parts, |part| &part.meta.pins),
        lost: Default::default(),
        extra: agreed(parts, |part| &part.meta.extra),
    };
    for (cause, &count) in parts.iter().flat_map(|part| &part.meta.lost) {
        let sum = meta.lost.entry(cause.clone()).or_default();
        *sum = sum.saturating_add(count);
    }
    meta
}

fn agreed_run(parts: &[&Profile]) -> Run {
    let mut cost: Vec<String> = parts.iter().flat_map(|part| part.run.cost.iter().cloned()).collect();
    cost.sort();
    cost.dedup();
    Run {
        pid: agreed(parts, |part| &part.run.pid),
        started: parts.iter().filter_map(|part| part.run.started).min(),
        duration: parts.iter().filter_map(|part| part.run.duration).reduce(u64::saturating_add),
        host: agreed(parts, |part| &part.run.host),
        cost,
        calibration: agreed(parts, |part| &part.run.calibration),
        extra: agreed(parts, |part| &part.run.extra),
    }
}
