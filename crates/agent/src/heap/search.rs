//! From objects back to roots, one step with each walk over the heap.
//!
//! A walk tells of every reference, but not how it came there. So the objects that are asked about have tags; a walk finds
//! those that refer to them, which get tags as well; the next walk finds who refers to those. What is known of an object is
//! its class and how it refers to others, and there are never more than [`MOST`] of them: little memory, whatever the size
//! of the heap. The first root that is found ends the shortest way.

use std::collections::VecDeque;

/// Tags of objects on the way are not below this; those of classes and threads are.
pub const FIRST: i64 = 1 << 32;
/// Objects that are kept in mind at most.
pub const MOST: usize = 20_000;
/// Objects that can be asked about at a time.
pub const SAMPLES: usize = 64;
/// Of objects that refer to more, these are enough.
const CHILDREN: usize = 16;

/// How one object refers to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Link {
    /// By the field with this number.
    Field(i32),
    /// As an element.
    Element(i32),
    /// In another way, which the VM has a number for.
    Other(i32),
}

/// Why an object is alive although no other object on the way holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// A static field, by the class's tag and the field's number; or something else of a class.
    Class(i64, Option<i32>),
    /// A thread has it, by the thread's tag, in a field or a local variable of this method.
    Thread(i64, Option<usize>),
    /// Another root, by the VM's number for its kind.
    Root(i32),
    /// It was not found out.
    Unknown,
}

struct Node {
    class: i64,
    level: u32,
    children: Vec<(u32, Link)>,
    end: Option<End>,
    /// A bit for each object asked about that can be reached from here.
    leads_to: u64,
}

/// A way: why the first object is alive, and each object's class with how it refers to the next.
#[derive(Debug, PartialEq, Eq)]
pub struct Way {
    pub end: End,
    pub steps: Vec<(i64, Option<Link>)>,
}

/// What is known so far.
pub struct Search {
    nodes: Vec<Node>,
    samples: usize,
    level: u32,
    solved: u64,
    /// Whether there was no room for an object that may have been on a way.
    pub full: bool,
}

impl Search {
    /// Nothing yet.
    pub fn new() -> Search {
        Search { nodes: Vec::new(), samples: 0, level: 0, solved: 0, full: false }
    }

    /// One more object to ask about; the tag that it is to have.
    pub fn ask(&mut self, class: i64) -> Option<i64> {
        if self.samples == SAMPLES {
            return None;
        }
        let leads_to = 1 << self.samples;
        self.samples += 1;
        self.add(Node { class, level: 0, children: Vec::new(), end: None, leads_to })
    }

    fn add(&mut self, node: Node) -> Option<i64> {
        if self.nodes.len() >= MOST {
            self.full = true;
            return None;
        }
        self.nodes.push(node);
        Some(FIRST + self.nodes.len() as i64 - 1)
    }

    /// Whether references to an object with this tag are of interest in this walk.
    pub fn wants(&self, tag: i64) -> bool {
        let node = tag.checked_sub(FIRST).and_then(|at| self.nodes.get(usize::try_from(at).ok()?));
        node.is_some_and(|node| {
            node.level == self.level && node.end.is_none() && node.leads_to & !self.solved != 0
        })
    }

    /// A root refers to the object with this tag.
    pub fn ends(&mut self, tag: i64, end: End) {
        let node = tag.checked_sub(FIRST).and_then(|at| self.nodes.get_mut(usize::try_from(at).ok()?));
        if let Some(node) = node {
            node.end = node.end.or(Some(end));
            self.solved |= node.leads_to;
        }
    }

    /// An object refers to the one with this tag; the tag that it is to have from now on.
    pub fn refers(&mut self, tag: i64, link: Link, referrer: i64, class: i64) -> Option<i64> {
        let to = u32::try_from(tag - FIRST).ok()?;
        let leads_to = self.nodes.get(to as usize)?.leads_to;
        if referrer >= FIRST {
            let from = self.nodes.get_mut(usize::try_from(referrer - FIRST).ok()?)?;
            // One that is nearer to what is asked about is not on a way from a root to it.
            if from.level > self.level && from.children.len() < CHILDREN {
                from.children.push((to, link));
                from.leads_to |= leads_to;
            } else if from.level <= self.level
                && from.leads_to & leads_to != leads_to
                && from.children.len() < CHILDREN
            {
                // It leads to others that are asked about, and to this one, too.
                from.children.push((to, link));
                from.leads_to |= leads_to;
                if from.end.is_some() {
                    self.solved |= leads_to;
                }
            }
            return None;
        }
        self.add(Node { class, level: self.level + 1, children: vec![(to, link)], end: None, leads_to })
    }

    /// A walk is over; whether another is worth it.
    pub fn next(&mut self) -> bool {
        self.level += 1;
        self.spread();
        !self.is_solved()
            && self.nodes.iter().any(|node| node.level == self.level && node.leads_to & !self.solved != 0)
    }

    /// What an object leads to, those lead to that refer to it.
    fn spread(&mut self) {
        let mut changed = true;
        while changed {
            changed = false;
            for at in 0..self.nodes.len() {
                let Some(node) = self.nodes.get(at) else { continue };
                let below = node.children.iter().filter_map(|(child, _)| self.nodes.get(*child as usize));
                let leads_to = below.fold(node.leads_to, |bits, child| bits | child.leads_to);
                if let Some(node) = self.nodes.get_mut(at).filter(|node| node.leads_to != leads_to) {
                    node.leads_to = leads_to;
                    changed = true;
                }
            }
        }
        let ended = self.nodes.iter().filter(|node| node.end.is_some());
        self.solved = ended.fold(self.solved, |bits, node| bits | node.leads_to);
    }

    /// Whether a way is known to each object that was asked about.
    pub fn is_solved(&self) -> bool {
        self.solved.count_ones() as usize == self.samples
    }

    /// The shortest way to each object; as far up as it is known where no root was found, and none for what nobody refers to.
    pub fn ways(&self) -> Vec<Option<Way>> {
        (0..self.samples).map(|sample| self.way(sample)).collect()
    }

    fn way(&self, sample: usize) -> Option<Way> {
        let bit = 1_u64 << sample;
        let mut before: Vec<Option<Option<(usize, Link)>>> = (0..self.nodes.len()).map(|_| None).collect();
        let leading = |wanted: &dyn Fn(&Node) -> bool| -> Vec<usize> {
            let leads = |node: &Node| node.leads_to & bit != 0 && wanted(node);
            (0..self.nodes.len()).filter(|&at| self.nodes.get(at).is_some_and(leads)).collect()
        };
        let mut starts = leading(&|node| node.end.is_some());
        if starts.is_empty() {
            let highest =
                self.nodes.iter().filter(|node| node.leads_to & bit != 0).map(|node| node.level).max()?;
            starts = leading(&|node| node.level == highest && highest > 0);
        }
        starts.sort_by_key(|&at| self.nodes.get(at).map_or(0, |node| node.level));
        let mut waiting: VecDeque<usize> = VecDeque::new();
        for at in starts {
            if let Some(slot) = before.get_mut(at) {
                *slot = Some(None);
            }
            waiting.push_back(at);
        }
        while let Some(at) = waiting.pop_front() {
            if at == sample {
                return self.described(&before, sample);
            }
            for &(child, link) in &self.nodes.get(at)?.children {
                let slot = before.get_mut(child as usize)?;
                if slot.is_none() {
                    *slot = Some(Some((at, link)));
                    waiting.push_back(child as usize);
                }
            }
        }
        None
    }

    fn described(&self, before: &[Option<Option<(usize, Link)>>], sample: usize) -> Option<Way> {
        let mut steps = vec![(self.nodes.get(sample)?.class, None)];
        let mut at = sample;
        while let Some((from, link)) = before.get(at).copied().flatten().flatten() {
            steps.push((self.nodes.get(from)?.class, Some(link)));
            at = from;
        }
        steps.reverse();
        Some(Way { end: self.nodes.get(at)?.end.unwrap_or(End::Unknown), steps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks over a graph until all is known: objects are numbers, `edges` are (from, to), `roots` are objects.
    fn search(edges: &[(i64, i64)], roots: &[i64], asked: &[i64]) -> Vec<Option<Vec<i64>>> {
        let mut tags = std::collections::HashMap::new();
        let mut search = Search::new();
        for &object in asked {
            tags.insert(object, search.ask(object).unwrap());
        }
        loop {
            for &root in roots {
                let tag = tags.get(&root).copied().unwrap_or(0);
                if search.wants(tag) {
                    search.ends(tag, End::Root(21));
                }
            }
            for &(from, to) in edges {
                let (referrer, tag) =
                    (tags.get(&from).copied().unwrap_or(0), tags.get(&to).copied().unwrap_or(0));
                if search.wants(tag)
                    && let Some(tag) = search.refers(tag, Link::Field(0), referrer, from)
                {
                    tags.insert(from, tag);
                }
            }
            if !search.next() {
                break;
            }
        }
        let ways = search.ways().into_iter();
        ways.map(|way| way.map(|way| way.steps.iter().map(|(class, _)| *class).collect())).collect()
    }

    #[test]
    fn the_shortest_way_is_found() {
        // 1 is a root: 1 → 2 → 3 → 9, and 1 → 4 → 9.
        let edges = [(1, 2), (2, 3), (3, 9), (1, 4), (4, 9), (9, 3)];
        assert_eq!(search(&edges, &[1], &[9]), [Some(vec![1, 4, 9])]);
    }

    #[test]
    fn ways_that_meet_are_found_for_all() {
        let edges = [(1, 2), (2, 7), (2, 8), (8, 9), (9, 8)];
        assert_eq!(
            search(&edges, &[1], &[7, 8, 9]),
            [Some(vec![1, 2, 7]), Some(vec![1, 2, 8]), Some(vec![1, 2, 8, 9])]
        );
    }

    #[test]
    fn what_no_root_leads_to_has_no_way() {
        assert_eq!(search(&[], &[1], &[3]), [None]);
        // As far as it goes.
        assert_eq!(search(&[(2, 3), (3, 2), (4, 2)], &[1], &[3]), [Some(vec![4, 2, 3])]);
        assert_eq!(search(&[], &[5], &[5]), [Some(vec![5])]);
    }

    #[test]
    fn there_is_an_end_to_what_is_kept_in_mind() {
        let mut search = Search::new();
        let tag = search.ask(1).unwrap();
        for i in 0..2 * MOST as i64 {
            search.refers(tag, Link::Field(0), 0, i);
        }
        assert!(search.full && search.nodes.len() == MOST);
        assert!((1..SAMPLES).all(|_| search.ask(2).is_none()));
    }
}
