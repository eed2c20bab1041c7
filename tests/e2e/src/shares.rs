//! Questions to a sampled profile.

use quipu_profile::{NodeId, Profile};

/// One metric of a profile, by share.
#[derive(Debug)]
pub struct Shares<'p> {
    profile: &'p Profile,
    self_values: &'p [u64],
    totals: Vec<u64>,
}

impl<'p> Shares<'p> {
    /// The metric with this name; the test fails if there is none.
    pub fn of(profile: &'p Profile, metric: &str) -> Self {
        let found = profile.metric(metric).unwrap_or_else(|| panic!("no metric {metric}"));
        Self { profile, self_values: found.values(), totals: profile.inclusive(found) }
    }

    /// Everything there is of it.
    pub fn sum(&self) -> u64 {
        self.self_values.iter().sum()
    }

    /// What the thread with this name has of it; none if there is no such thread.
    pub fn thread(&self, name: &str) -> u64 {
        let threads = self.profile.threads().iter();
        let mine = threads.filter(|thread| self.profile.str(thread.name) == name);
        mine.map(|thread| self.totals[thread.root as usize]).sum()
    }

    /// What a method has of it, in all its contexts, with what it calls.
    pub fn total(&self, class: &str, name: &str) -> u64 {
        let outermost = |&node: &NodeId| {
            let above = self.profile.tree().path(node);
            !above.iter().rev().skip(1).any(|&above| self.is(above, class, name))
        };
        self.contexts(class, name).filter(outermost).map(|node| self.totals[node as usize]).sum()
    }

    /// What a method has of it, in all its contexts, by itself.
    pub fn own(&self, class: &str, name: &str) -> u64 {
        self.contexts(class, name).map(|node| self.self_values[node as usize]).sum()
    }

    fn contexts<'s>(&'s self, class: &'s str, name: &'s str) -> impl Iterator<Item = NodeId> + 's {
        (0..self.self_values.len() as NodeId).filter(move |&node| self.is(node, class, name))
    }

    fn is(&self, node: NodeId, class: &str, name: &str) -> bool {
        self.profile.tree().method(node).is_some_and(|method| {
            let method = self.profile.method(method);
            (self.profile.str(method.class), self.profile.str(method.name)) == (class, name)
        })
    }
}

/// In percent.
pub fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}
