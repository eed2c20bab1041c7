//! Flat profiles: the tree added up by method, class, package, module or thread.

use crate::{MethodId, Metric, NO_METHOD, NodeId, Profile, package_of};
use rustc_hash::FxHashMap;

/// What nodes are added up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Method.
    Method,
    /// Class, whichever loader it is from.
    Class,
    /// Package.
    Package,
    /// Module or library, see [`Profile::module_of`]; code in none that is known counts under the empty name.
    Module,
}

/// One value per key, twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// What contexts of the key did themselves.
    pub own: Vec<u64>,
    /// What they and all they called did. Recursion counts once: a context below another of the same key adds nothing.
    pub total: Vec<u64>,
}

/// A partition of the profile's methods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// Names of the keys, sorted; for [`By::Method`] `class.name`, in method order.
    pub names: Vec<String>,
    /// The key of each method.
    pub of_method: Vec<u32>,
    /// True for keys all of whose methods are opaque.
    pub opaque: Vec<bool>,
}

impl Profile {
    /// Sorts methods into keys.
    pub fn keys(&self, by: By) -> Keys {
        let methods = 0..self.methods.len() as MethodId;
        if by == By::Method {
            return Keys {
                names: methods.clone().map(|id| self.method_name(id)).collect(),
                of_method: methods.collect(),
                opaque: self.methods.iter().map(|method| method.opaque()).collect(),
            };
        }
        let name = |id: MethodId| {
            let method = self.method(id);
            match by {
                By::Method | By::Class => self.str(method.class),
                By::Package => package_of(self.str(method.class)),
                By::Module => self.module_of(id),
            }
        };
        let mut names: Vec<&str> = methods.clone().map(name).collect();
        names.sort_unstable();
        names.dedup();
        let index: FxHashMap<&str, u32> =
            names.iter().enumerate().map(|(at, &name)| (name, at as u32)).collect();
        let of_method: Vec<u32> = methods.map(|id| index[name(id)]).collect();
        let mut opaque = vec![true; names.len()];
        for (method, &key) in self.methods.iter().zip(&of_method) {
            opaque[key as usize] &= method.opaque();
        }
        Keys { names: names.into_iter().map(str::to_owned).collect(), of_method, opaque }
    }

    /// Adds a metric up by key. `of_method` gives each method's key, below `keys`.
    pub fn totals(&self, metric: &Metric, of_method: &[u32], keys: usize) -> Totals {
        let key = |node: usize| match self.tree.method[node] {
            NO_METHOD => None,
            method => Some(of_method[method as usize]),
        };
        self.totals_by(metric, key, keys)
    }

    /// Adds a metric up by key. `key` gives each node's key, below `keys`; nodes without one are left out.
    pub fn totals_by(&self, metric: &Metric, key: impl Fn(usize) -> Option<u32>, keys: usize) -> Totals {
        let aggregation = metric.spec.aggregation;
        let inclusive = self.inclusive(metric);
        let mut totals = Totals { own: vec![0; keys], total: vec![0; keys] };
        // Per key, where the outermost open subtree of that key ends: in preorder a node before that end lies inside it.
        let mut until: Vec<NodeId> = vec![0; keys];
        for (node, &all) in inclusive.iter().enumerate() {
            let Some(key) = key(node).map(|key| key as usize) else { continue };
            totals.own[key] = aggregation.combine(totals.own[key], metric.values[node]);
            if node as NodeId >= until[key] {
                until[key] = self.tree.end[node];
                totals.total[key] = aggregation.combine(totals.total[key], all);
            }
        }
        totals
    }

    /// Adds a metric up by method.
    pub fn totals_by_method(&self, metric: &Metric) -> Totals {
        let keys: Vec<u32> = (0..self.methods.len() as u32).collect();
        self.totals(metric, &keys, keys.len())
    }

    /// A metric's total for each thread.
    pub fn totals_by_thread(&self, metric: &Metric) -> Vec<u64> {
        let aggregation = metric.spec.aggregation;
        let range = |root: NodeId| root as usize..self.tree.end[root as usize] as usize;
        self.threads
            .iter()
            .map(|thread| {
                metric.values[range(thread.root)]
                    .iter()
                    .fold(0, |sum, &value| aggregation.combine(sum, value))
            })
            .collect()
    }
}
