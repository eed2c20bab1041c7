//! Leak suspects: where much of the heap is held by one place, told so that a person knows where to look.

use crate::analysis::{Analysis, Group, Holder};
use crate::error::HeapError;
use crate::paths::{Path, Paths};
use crate::watch::Watch;

/// Somebody who holds much.
#[derive(Debug, Clone, PartialEq)]
pub struct Suspect {
    /// The object that no other holds; of several, the one that holds most.
    pub holder: Holder,
    /// How many of its class are meant: one, or all that no other object holds, where none of them holds much.
    pub objects: u64,
    /// What they hold together.
    pub retained: u64,
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
        let retained = holder.retained;
        suspects.push(Suspect { holder, objects: 1, retained, gathers, held, path: None, share });
    }
    let alone: Vec<u64> = suspects.iter().map(|suspect| suspect.holder.number).collect();
    for many in by_class(analysis, &alone).into_iter().take_while(|many| share(many.retained) >= LEAST_SHARE)
    {
        if suspects.len() >= limit {
            break;
        }
        let Many { objects, retained, largest } = many;
        let holder = analysis.holder(largest)?;
        let gathers = gathering(analysis, holder.clone())?;
        let held = held_by_class(analysis, gathers.number);
        suspects.push(Suspect {
            holder,
            objects,
            retained,
            gathers,
            held,
            path: None,
            share: share(retained),
        });
    }
    let ids: Vec<u64> = suspects.iter().map(|suspect| suspect.gathers.id).collect();
    let paths = if ids.is_empty() { Vec::new() } else { Paths::of(analysis).to_ids(&ids, watch)? };
    for (suspect, path) in suspects.iter_mut().zip(paths) {
        suspect.path = path;
    }
    Ok(suspects)
}

/// Objects of a class that no other object holds.
struct Many {
    objects: u64,
    retained: u64,
    /// The one that holds most.
    largest: u64,
}

/// Classes of which several objects are held by no other, without those that are suspects by themselves; those that hold most
/// first. What leaks below many threads or many caches has no single place. Classes hold what is static in them, which
/// different programs put there for different reasons.
fn by_class(analysis: &Analysis<'_>, without: &[u64]) -> Vec<Many> {
    let (above, node, retained) =
        (analysis.tree.above.view(), analysis.tree.node.view(), analysis.retained.view());
    let mut classes: std::collections::HashMap<u32, Many> = std::collections::HashMap::new();
    for w in (1..=analysis.tree.reached).filter(|&w| above.get(w) == 0 && !without.contains(&w)) {
        let held = retained.get(w);
        let many = classes.entry(analysis.references.class(node.get(w))).or_insert(Many {
            objects: 0,
            retained: 0,
            largest: w,
        });
        many.objects += 1;
        many.retained += held;
        if held > retained.get(many.largest) {
            many.largest = w;
        }
    }
    classes.retain(|&class, many| {
        many.objects > 1 && analysis.dump.classes.get(class).name != "java.lang.Class"
    });
    let mut classes: Vec<Many> = classes.into_values().collect();
    classes.sort_by_key(|many| (std::cmp::Reverse(many.retained), many.largest));
    classes
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
