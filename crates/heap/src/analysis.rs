//! What objects hold: the size of all that would be gone with them.

use crate::dominators::Dominators;
use crate::dump::Dump;
use crate::error::HeapError;
use crate::graph::References;
use crate::object::Objects;
use crate::scratch::{Bits, Numbers, Scratch};
use crate::watch::Watch;

/// A dump whose dominators are known.
pub struct Analysis<'d> {
    pub(crate) dump: &'d Dump<'d>,
    pub(crate) references: References<'d>,
    pub(crate) tree: Dominators,
    /// By number of the search; that of the node above all roots is the size of all that can be reached.
    pub(crate) retained: Numbers,
    pub(crate) scratch: &'d dyn Scratch,
    reachable: Reachable,
}

/// What can be reached, in objects and bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reachable {
    /// From roots, through strong references.
    pub strongly: (u64, u64),
    /// Through a weak, soft or phantom reference only.
    pub weakly: (u64, u64),
    /// Not at all: garbage that was in the dump.
    pub not: (u64, u64),
}

/// An object and what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub(crate) number: u64,
    /// Its id.
    pub id: u64,
    /// Its class.
    pub class: String,
    /// What it is, if that can be said in a few words.
    pub summary: Option<String>,
    /// Bytes that it takes itself.
    pub size: u64,
    /// Bytes that would be gone with it.
    pub retained: u64,
}

/// Objects that have something in common, and what they hold together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Group {
    /// The class, the loader or the package.
    pub name: String,
    /// How many there are.
    pub objects: u64,
    /// Bytes that they take themselves.
    pub bytes: u64,
    /// Bytes that would be gone with them.
    pub retained: u64,
}

/// What objects can have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupBy {
    /// The class.
    Class,
    /// The loader of the class.
    Loader,
    /// The package of the class.
    Package,
}

impl<'d> Analysis<'d> {
    /// Finds out what holds what.
    pub fn new(
        dump: &'d Dump<'d>,
        scratch: &'d dyn Scratch,
        watch: &dyn Watch,
    ) -> Result<Analysis<'d>, HeapError> {
        let references = References::read(dump, scratch, watch)?;
        let tree = Dominators::of(&references, scratch, watch)?;
        let mut total = 0_u64;
        references.sizes(|_, size| total = total.saturating_add(size));
        let mut retained = Numbers::new(scratch, tree.reached + 1, total)?;
        let (mut view, number, above) = (retained.view_mut(), tree.number.view(), tree.above.view());
        references.sizes(|node, size| match number.get(node) {
            0 => {}
            number => view.set(number, size),
        });
        for w in (1..=tree.reached).rev() {
            let up = above.get(w);
            view.set(up, view.get(up) + view.get(w));
        }
        let mut analysis =
            Analysis { dump, references, tree, retained, scratch, reachable: Reachable::default() };
        analysis.reachable = analysis.reach(total);
        Ok(analysis)
    }

    fn reach(&self, total: u64) -> Reachable {
        use crate::graph::Graph;
        let strongly = (self.tree.reached, self.retained.get(0));
        let (all, number) = (self.dump.objects(), self.tree.number.view());
        if self.tree.reached == all {
            return Reachable { strongly, ..Reachable::default() };
        }
        let mut seen = Bits::new(all);
        let mut waiting: Vec<u64> = Vec::new();
        // A reference that is not reached itself reaches nothing; one that is reached weakly does.
        for &(reference, referent) in &self.references.weak {
            if number.get(reference) != 0 && number.get(referent) == 0 && seen.set(referent) {
                waiting.push(referent);
            }
        }
        let mut weak = self.references.weak.clone();
        weak.sort_unstable();
        while let Some(node) = waiting.pop() {
            let mut go = |target| {
                if number.get(target) == 0 && seen.set(target) {
                    waiting.push(target);
                }
            };
            self.references.targets(node, &mut go);
            let from = weak.partition_point(|&(reference, _)| reference < node);
            weak[from..].iter().take_while(|(reference, _)| *reference == node).for_each(|&(_, to)| go(to));
        }
        let mut weakly = (0, 0);
        self.references.sizes(|node, size| {
            if seen.has(node) {
                weakly = (weakly.0 + 1, weakly.1 + size);
            }
        });
        let not = (all - strongly.0 - weakly.0, total - strongly.1 - weakly.1);
        Reachable { strongly, weakly, not }
    }

    /// What can be reached.
    pub fn reachable(&self) -> Reachable {
        self.reachable
    }

    /// What is not reachable at all, by class, most bytes first.
    pub fn unreachable(&self) -> Vec<Group> {
        use crate::graph::Graph;
        let number = self.tree.number.view();
        let mut weak = Bits::new(self.dump.objects());
        let mut waiting: Vec<u64> = self.references.weak.iter().map(|&(_, to)| to).collect();
        while let Some(node) = waiting.pop() {
            if number.get(node) == 0 && weak.set(node) {
                self.references.targets(node, |target| waiting.push(target));
            }
        }
        let mut groups = vec![Group::default(); self.dump.classes.count()];
        self.references.sizes(|node, size| {
            if number.get(node) == 0 && !weak.has(node) {
                let group = &mut groups[self.references.class(node) as usize];
                group.objects += 1;
                group.bytes += size;
            }
        });
        let classes = self.dump.classes.iter();
        let named =
            groups.into_iter().zip(classes).map(|(group, class)| Group { name: class.name.clone(), ..group });
        let mut groups: Vec<Group> = named.filter(|group| group.objects > 0).collect();
        groups.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
        groups
    }

    /// Bytes that would be gone with an object; nothing if it is not reachable.
    pub fn retained_by(&self, id: u64) -> Option<u64> {
        let number = self.tree.number.get(self.dump.number(id)?);
        (number != 0).then(|| self.retained.get(number))
    }

    /// The object right above another in the dominator tree.
    pub fn dominator_of(&self, id: u64) -> Option<Result<Holder, HeapError>> {
        let number = self.tree.number.get(self.dump.number(id)?);
        let above = self.tree.above.get(number);
        (number != 0 && above != 0).then(|| self.holder(above))
    }

    /// The objects that hold most, of those that no other holds.
    pub fn biggest(&self, limit: usize) -> Result<Vec<Holder>, HeapError> {
        self.below(0, limit)
    }

    /// What an object holds directly, the largest first.
    pub fn held_by(&self, id: u64, limit: usize) -> Result<Vec<Holder>, HeapError> {
        match self.dump.number(id).map(|node| self.tree.number.get(node)) {
            None | Some(0) => Ok(Vec::new()),
            Some(number) => self.below(number, limit),
        }
    }

    /// The largest right below a place in the tree.
    pub(crate) fn below(&self, number: u64, limit: usize) -> Result<Vec<Holder>, HeapError> {
        let (above, retained) = (self.tree.above.view(), self.retained.view());
        let mut best: Vec<(u64, u64)> = Vec::new();
        let mut least = 0;
        for w in number + 1..=self.tree.reached {
            if above.get(w) == number && (best.len() < limit || retained.get(w) > least) {
                best.push((retained.get(w), w));
                if best.len() >= 2 * limit.max(64) {
                    best.sort_unstable_by_key(|&(size, w)| (std::cmp::Reverse(size), w));
                    best.truncate(limit);
                    least = best.last().map_or(0, |&(size, _)| size);
                }
            }
        }
        best.sort_unstable_by_key(|&(size, w)| (std::cmp::Reverse(size), w));
        best.truncate(limit);
        best.into_iter().map(|(_, w)| self.holder(w)).collect()
    }

    /// The object with a number of the search.
    pub(crate) fn holder(&self, number: u64) -> Result<Holder, HeapError> {
        let mut objects = Objects::new(self.dump);
        let object = objects.read(self.tree.node.get(number))?;
        Ok(Holder {
            number,
            id: object.id,
            class: objects.class(&object).name.clone(),
            summary: objects.summary(&object),
            size: object.size,
            retained: self.retained.get(number),
        })
    }

    /// Groups of objects, those that hold most first.
    pub fn groups(&self, by: GroupBy, watch: &dyn Watch) -> Result<Vec<Group>, HeapError> {
        let (names, group_of) = self.group_names(by);
        let mut groups: Vec<Group> =
            names.into_iter().map(|name| Group { name, ..Group::default() }).collect();
        watch.begin("adding up what groups hold", self.tree.reached);
        let reached = self.tree.reached;
        let mut first = Numbers::new(self.scratch, reached + 1, reached)?;
        let mut next = Numbers::new(self.scratch, reached + 1, reached)?;
        let (mut first_view, mut next_view) = (first.view_mut(), next.view_mut());
        let (above, node, retained) = (self.tree.above.view(), self.tree.node.view(), self.retained.view());
        for w in (1..=reached).rev() {
            let up = above.get(w);
            next_view.set(w, first_view.get(up));
            first_view.set(up, w);
        }
        // How many of each group are above the place where we are: what they hold is counted with the topmost.
        let mut open = vec![0_u64; groups.len()];
        let mut at = first_view.get(0);
        let mut done = 0;
        while at != 0 {
            let group = group_of[self.references.class(node.get(at)) as usize] as usize;
            let row = &mut groups[group];
            let below: u64 = retained.get(at);
            row.objects += 1;
            if open[group] == 0 {
                row.retained += below;
            }
            done += 1;
            if done % 65_536 == 0 {
                watch.advance(65_536);
            }
            let child = first_view.get(at);
            if child != 0 {
                open[group] += 1;
                at = child;
                continue;
            }
            // Up until there is a sibling.
            while at != 0 && next_view.get(at) == 0 {
                at = above.get(at);
                if at != 0 {
                    open[group_of[self.references.class(node.get(at)) as usize] as usize] -= 1;
                }
            }
            at = next_view.get(at);
        }
        let number = self.tree.number.view();
        self.references.sizes(|node, size| {
            if number.get(node) != 0 {
                groups[group_of[self.references.class(node) as usize] as usize].bytes += size;
            }
        });
        groups.retain(|group| group.objects > 0);
        groups.sort_by(|a, b| b.retained.cmp(&a.retained).then_with(|| a.name.cmp(&b.name)));
        Ok(groups)
    }

    /// Names of groups, and which group each class belongs to.
    fn group_names(&self, by: GroupBy) -> (Vec<String>, Vec<u32>) {
        let mut objects = Objects::new(self.dump);
        let mut known: std::collections::HashMap<String, u32> = std::collections::HashMap::new();
        let mut names = Vec::new();
        let mut loaders: std::collections::HashMap<u64, String> = std::collections::HashMap::new();
        let group_of = self.dump.classes.iter().map(|class| {
            let name = match by {
                GroupBy::Class => class.name.clone(),
                GroupBy::Package => package(&class.name).to_owned(),
                GroupBy::Loader => loaders
                    .entry(class.loader)
                    .or_insert_with(|| loader_name(&mut objects, class.loader))
                    .clone(),
            };
            *known.entry(name.clone()).or_insert_with(|| {
                names.push(name);
                names.len() as u32 - 1
            })
        });
        let group_of = group_of.collect();
        (names, group_of)
    }
}

fn package(class: &str) -> &str {
    let element = class.trim_end_matches("[]");
    match element.rsplit_once('.') {
        Some((package, _)) => package,
        None if element.len() < class.len() && element.chars().all(|c| c.is_ascii_lowercase()) => {
            "(primitive arrays)"
        }
        None => "(no package)",
    }
}

fn loader_name(objects: &mut Objects<'_>, id: u64) -> String {
    if id == 0 {
        return "boot loader".to_owned();
    }
    let Ok(loader) = objects.with_id(id) else { return format!("loader@{id:x}") };
    let class = objects.class(&loader).name.clone();
    let name = objects.follow(&loader, "name").and_then(|name| objects.text(&name));
    match name {
        Some(name) => format!("{class} '{name}' @{id:x}"),
        None => format!("{class} @{id:x}"),
    }
}
