//! Parts of a profile: some threads, some labels, a stretch of time, what is not empty.

use crate::names::Names;
use crate::transform::Import;
use crate::{Builder, NO_NODE, Profile, Thread};
use std::ops::Range;

impl Profile {
    /// Only the threads that `keep` wants.
    pub fn select_threads(&self, keep: impl Fn(&Profile, &Thread) -> bool) -> Profile {
        let tree = &self.tree;
        self.transform(
            |thread| keep(self, thread),
            |builder, placed, node, method| {
                builder.push(placed[tree.parent[node as usize] as usize], method, tree.site[node as usize])
            },
        )
    }

    /// Only the threads with this name.
    pub fn select_thread(&self, name: &str) -> Profile {
        self.select_threads(|profile, thread| profile.str(thread.name) == name)
    }

    /// Only the trees that carry this label.
    pub fn select_label(&self, key: &str, value: &str) -> Profile {
        self.select_threads(|profile, thread| {
            thread.labels.iter().any(|&(k, v)| (profile.str(k), profile.str(v)) == (key, value))
        })
    }

    /// What was sampled in this stretch of time, in nanoseconds since the profile began. Metrics that kept no samples
    /// cannot be cut by time and come out as zeros.
    pub fn select_time(&self, time: Range<u64>) -> Profile {
        let mut builder = Builder::with_capacity(self.tree.len());
        (builder.meta, builder.run) = (self.meta.clone(), self.run.clone());
        let mut import = Import::new(&mut builder, self, Names::Exact);
        import.threads(&mut builder, |_| true);
        import.place_all(&mut builder, true);
        import.carry(&mut builder);
        builder.samples.retain(|sample| time.contains(&sample.time));
        builder
            .events
            .retain(|event| event.time < time.end && event.time.saturating_add(event.duration) >= time.start);
        for (_, values) in &mut builder.metrics {
            values.clear();
        }
        for sample in builder.samples.clone() {
            builder.add(sample.node, sample.metric, sample.value);
        }
        builder.finish().without_empty()
    }

    /// Without contexts in which, and below which, every metric is zero. Threads stay.
    pub fn without_empty(&self) -> Profile {
        let tree = &self.tree;
        let mut used: Vec<bool> =
            (0..tree.len()).map(|node| self.metrics.iter().any(|metric| metric.values[node] != 0)).collect();
        for sample in &self.samples {
            used[sample.node as usize] = true;
        }
        for node in (0..used.len()).rev() {
            let parent = tree.parent[node];
            if used[node] && parent != NO_NODE {
                used[parent as usize] = true;
            }
        }
        self.transform(
            |_| true,
            |builder, placed, node, method| match used[node as usize] {
                true => builder.push(
                    placed[tree.parent[node as usize] as usize],
                    method,
                    tree.site[node as usize],
                ),
                false => NO_NODE,
            },
        )
    }
}
