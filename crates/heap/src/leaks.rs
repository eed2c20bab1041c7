//! Leak suspects: where much of the heap is held by one place, told so that a person knows where to look.

use crate::analysis::{Analysis, Group, Holder};
use crate::error::HeapError;
use crate::paths::{Path, Paths};
use crate::watch::Watch;

/// Somebody who holds much.
#[derive(Debug, Clone, PartialEq)]
pub struct Suspect {
    /// The object that no other holds.
    pub holder: Holder,
    /// Below it, the object at which what it holds comes together: the collection itself, often.
    pub gathers: Holder,
    /// What is directly held there, by class, most first.
    pub held: Vec<Group>,
    /// Why the gathering object is alive.
    pub path: Option<Path>,
    /// Its share of the heap, in percent.
    pub share: f64,
}

/// An object with less of the heap is no suspect.
const LEAST_SHARE: f64 = 10.0;
/// One that holds less than this part of what is held above it is not on the way to where it gathers.
const NARROWS: f64 = 0.7;
/// Classes of what is held that are told.
const CLASSES: usize = 5;

/// Those who hold most of the heap, as many as `limit`.
pub fn suspects(analysis: &Analysis<'_>, limit: usize, watch: &dyn Watch) -> Result<Vec<Suspect>, HeapError> {
    let total = analysis.reachable().strongly.1.max(1);
    let share = |bytes: u64| bytes as f64 * 100.0 / total as f64;
    let mut suspects = Vec::new();
    for holder in analysis.biggest(limit)? {
        if share(holder.retained) < LEAST_SHARE {
            break;
        }
        let gathers = gathering(analysis, holder.clone())?;
        let held = held_by_class(analysis, gathers.number);
        let share = share(holder.retained);
        suspects.push(Suspect { holder, gathers, held, path: None, share });
    }
    let ids: Vec<u64> = suspects.iter().map(|suspect| suspect.gathers.id).collect();
    let paths = if ids.is_empty() { Vec::new() } else { Paths::of(analysis).to_ids(&ids, watch)? };
    for (suspect, path) in suspects.iter_mut().zip(paths) {
        suspect.path = path;
    }
    Ok(suspects)
}

/// Follows the one that holds nearly all, as long as there is one.
fn gathering(analysis: &Analysis<'_>, mut holder: Holder) -> Result<Holder, HeapError> {
    // A list whose elements hold each other is one long way down; where it begins is where it gathers.
    for _ in 0..64 {
        let Some(largest) = analysis.below(holder.number, 1)?.pop() else { break };
        if (largest.retained as f64) < NARROWS * holder.retained as f64 {
            break;
        }
        holder = largest;
    }
    Ok(holder)
}

fn held_by_class(analysis: &Analysis<'_>, number: u64) -> Vec<Group> {
    let (above, node, retained) =
        (analysis.tree.above.view(), analysis.tree.node.view(), analysis.retained.view());
    let mut groups: std::collections::HashMap<u32, Group> = std::collections::HashMap::new();
    for w in number + 1..=analysis.tree.reached {
        if above.get(w) == number {
            let group = groups.entry(analysis.references.class(node.get(w))).or_default();
            group.objects += 1;
            group.retained += retained.get(w);
        }
    }
    let mut groups: Vec<Group> = groups
        .into_iter()
        .map(|(class, group)| Group { name: analysis.dump.classes.get(class).name.clone(), ..group })
        .collect();
    groups.sort_by(|a, b| b.retained.cmp(&a.retained).then_with(|| a.name.cmp(&b.name)));
    groups.truncate(CLASSES);
    groups
}

impl Suspect {
    /// The place in the program: the last static field, local variable or thread on the way, and the field behind it that
    /// is not the JDK's.
    pub fn place(&self) -> String {
        let Some(path) = &self.path else { return self.holder.class.clone() };
        let named = |step: &crate::paths::Step| {
            let by = step.by.as_deref()?;
            let own = !step.class.starts_with("java.")
                && !step.class.starts_with("jdk.")
                && !step.class.starts_with("sun.");
            (own && !by.starts_with(['<', '[']) && !step.class.ends_with("[]"))
                .then(|| format!("{}.{by}", step.class))
        };
        path.steps.iter().rev().find_map(named).unwrap_or_else(|| match &path.steps[..] {
            [first, ..] if first.by.as_deref().is_some_and(|by| by.starts_with('<')) => {
                format!("{}, {}", path.root, first.by.as_deref().unwrap_or_default())
            }
            _ => path.root.clone(),
        })
    }
}
