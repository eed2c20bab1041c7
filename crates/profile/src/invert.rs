//! Bottom-up: who is a method's work done for?

use crate::names::Names;
use crate::transform::Import;
use crate::{MethodId, NO_NODE, NodeId, Profile, UNKNOWN_SITE};

/// A context whose own values are being attributed, and how far up its path the walk has come.
#[derive(Clone, Copy)]
struct Climber {
    /// Method of the frame at `at`; what climbers of one group are told apart by.
    method: MethodId,
    at: NodeId,
    origin: NodeId,
}

impl Profile {
    /// The bottom-up tree: below each thread's root stand the methods that did the work, below them their callers, and so
    /// on outwards. A context's own values stand at the end of its reversed path, or after `max_depth` frames, so inclusive
    /// values of the new tree are self values by ever longer suffixes of the path.
    pub fn invert(&self, max_depth: Option<u32>) -> Profile {
        let tree = &self.tree;
        let max_depth = max_depth.map_or(usize::MAX, |depth| depth.max(1) as usize);
        let mut builder = crate::Builder::with_capacity(tree.len());
        (builder.meta, builder.run) = (self.meta.clone(), self.run.clone());
        let mut import = Import::new(&mut builder, self, Names::Exact);
        import.threads(&mut builder, |_| true);
        import.nodes = vec![NO_NODE; tree.len()];

        let mut climbers: Vec<Climber> = Vec::new();
        let mut frames: Vec<(usize, usize, NodeId)> = Vec::new();
        for (thread, &into) in self.threads.iter().zip(&import.threads) {
            let root = builder.root(into);
            import.nodes[thread.root as usize] = root;
            climbers.clear();
            climbers.extend(
                (thread.root + 1..tree.end(thread.root))
                    .filter(|&node| self.metrics.iter().any(|metric| metric.values[node as usize] != 0))
                    .map(|node| Climber { method: tree.method[node as usize], at: node, origin: node }),
            );
            climbers.sort_unstable_by_key(|climber| (climber.method, climber.origin));
            frames.push((0, 0, root));
            // Each frame owns the climbers from its start on; a run with equal methods is one node of the new tree, and
            // those of the run that can climb further are the frame on top of it.
            while let Some((from, next, above)) = frames.last_mut() {
                if *next == climbers.len() {
                    climbers.truncate(*from);
                    frames.pop();
                    continue;
                }
                let method = climbers[*next].method;
                let run =
                    *next..*next + climbers[*next..].partition_point(|climber| climber.method == method);
                *next = run.end;
                let node = builder.push(*above, import.methods[method as usize], UNKNOWN_SITE);
                let (start, deep) = (climbers.len(), frames.len() >= max_depth);
                for index in run {
                    let climber = climbers[index];
                    let caller = tree.parent[climber.at as usize];
                    if caller == thread.root || deep {
                        import.nodes[climber.origin as usize] = node;
                    } else {
                        let method = tree.method[caller as usize];
                        climbers.push(Climber { method, at: caller, origin: climber.origin });
                    }
                }
                climbers[start..].sort_unstable_by_key(|climber| (climber.method, climber.origin));
                if climbers.len() > start {
                    frames.push((start, start, node));
                }
            }
        }
        // Contexts without values were not walked: samples of theirs, if any, would have nowhere to go and are dropped.
        import.carry(&mut builder);
        builder.finish()
    }
}
