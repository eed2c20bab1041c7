//! Parts of a profile: some threads, some labels, a stretch of time, what is not empty.

use crate::{LabelsId, Metric, NO_NODE, Profile, Sample, Thread};
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

    /// What carries this label: whole trees, and of the others what was sampled under it. Metrics that kept no samples
    /// are known by tree only.
    pub fn select_label(&self, key: &str, value: &str) -> Profile {
        let whole: Vec<bool> =
            self.threads.iter().map(|thread| self.has_label(&thread.labels, key, value)).collect();
        let sets = 0..=self.label_sets.len() as LabelsId;
        let labelled: Vec<bool> = sets.map(|id| self.has_label(self.labels(id), key, value)).collect();
        let cut = self.recounted(&whole, |sample| labelled[sample.labels as usize]);
        let mut wanted = whole;
        cut.samples.iter().for_each(|sample| wanted[sample.thread as usize] = true);
        cut.select_threads(|cut, thread| wanted[cut.thread_of(thread.root) as usize]).without_empty()
    }

    /// What was sampled in this stretch of time, in nanoseconds since the profile began. Metrics that kept no samples
    /// cannot be cut by time and come out as zeros.
    pub fn select_time(&self, time: Range<u64>) -> Profile {
        let mut cut = self.recounted(&vec![false; self.threads.len()], |sample| time.contains(&sample.time));
        cut.events
            .retain(|event| event.time < time.end && event.time.saturating_add(event.duration) >= time.start);
        cut.without_empty()
    }

    /// The samples that `keep` wants and what they add up to; `whole` threads, by id, stay as they are.
    fn recounted(&self, whole: &[bool], keep: impl Fn(&Sample) -> bool) -> Profile {
        let mut cut = self.clone();
        cut.samples.retain(|sample| whole[sample.thread as usize] || keep(sample));
        for metric in &mut cut.metrics {
            for thread in
                self.threads.iter().zip(whole).filter(|(_, whole)| !**whole).map(|(thread, _)| thread)
            {
                let nodes = thread.root as usize..self.tree.end(thread.root) as usize;
                metric.values[nodes].fill(0);
            }
        }
        for sample in cut.samples.iter().filter(|sample| !whole[sample.thread as usize]) {
            let metric = &mut cut.metrics[sample.metric as usize];
            let value = &mut metric.values[sample.node as usize];
            *value = metric.spec.aggregation.combine(*value, sample.value);
        }
        cut
    }

    /// Contexts whose total is a smaller part of the whole than `share` become part of their callers.
    pub fn fold_below(&self, metric: &Metric, share: f64) -> Profile {
        let (tree, totals) = (&self.tree, self.inclusive(metric));
        let least = metric.total() as f64 * share;
        self.transform(
            |_| true,
            |builder, placed, node, method| {
                let above = placed[tree.parent[node as usize] as usize];
                match totals[node as usize] as f64 >= least {
                    true => builder.push(above, method, tree.site[node as usize]),
                    false => above,
                }
            },
        )
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
