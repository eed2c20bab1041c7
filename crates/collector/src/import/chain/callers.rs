//! Who called the oldest frame that is known of each stack. It knows nothing of arenas.

use std::collections::{BTreeSet, HashMap};

/// A frame, and those that are inlined into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Its method.
    pub method: u64,
    /// Where it begins, from the beginning of the stack.
    pub depth: u64,
    /// The number of what is inlined at its place, and of the place.
    pub run: u32,
}

/// The youngest frames of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// The thread.
    pub thread: u32,
    /// When it was so.
    pub time: u64,
    /// Frames, the youngest first, each deeper in the stack than the next.
    pub frames: Vec<Frame>,
    /// Whether they are all.
    pub whole: bool,
}

/// Who called the oldest frame of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// A frame of another stack, with its callers.
    Caller {
        /// The stack.
        stack: usize,
        /// The frame in it.
        frame: usize,
        /// Whether no other caller was ever seen.
        unique: bool,
    },
    /// Nobody: it is the first.
    Beginning {
        /// Whether it was never seen to be called.
        unique: bool,
    },
    /// It was never seen with its caller.
    Unknown,
}

impl Link {
    /// Whether there is only one that it can be.
    pub fn is_unique(self) -> bool {
        matches!(self, Link::Caller { unique: true, .. } | Link::Beginning { unique: true })
    }

    /// The same, with a doubt.
    fn doubted(self) -> Link {
        match self {
            Link::Caller { stack, frame, .. } => Link::Caller { stack, frame, unique: false },
            Link::Beginning { .. } => Link::Beginning { unique: false },
            Link::Unknown => Link::Unknown,
        }
    }
}

/// How far a frame may be from where another of its method was seen with a caller, if none was seen at the same place: a frame
/// that was just being built.
const FITS: u64 = 256;

/// A method at a depth of a thread's stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Activation {
    /// The thread.
    pub thread: u32,
    /// The method.
    pub method: u64,
    /// Where the frame begins.
    pub depth: u64,
}

/// What is known of a frame when its caller is looked for: the thread, the frame, and the frame that it called.
type Key = (Option<u32>, u64, u64, Option<(u64, u64)>);

/// Stands for all methods, in a key: a frame that begins where another did may have the same caller.
const ANY: u64 = 0;

/// Frames that were seen with their callers.
#[derive(Default)]
struct Seen {
    /// By time.
    places: Vec<(u64, usize, usize)>,
    /// Who the callers are; the beginning of the stack is one.
    first: Option<Option<(u64, u64, u32)>>,
    several: bool,
}

/// Who called what.
pub struct Callers {
    seen: HashMap<Key, Seen>,
    /// Depths at which methods were seen with a caller.
    depths: HashMap<(u32, u64), BTreeSet<u64>>,
    links: Vec<Link>,
}

impl Callers {
    /// What these stacks tell.
    pub fn of(stacks: &[Stack]) -> Callers {
        let mut by_time: Vec<usize> = (0..stacks.len()).collect();
        by_time.sort_by_key(|&at| stacks[at].time);
        let mut callers = Callers { seen: HashMap::new(), depths: HashMap::new(), links: Vec::new() };
        for at in by_time {
            let stack = &stacks[at];
            for (frame, found) in stack.frames.iter().enumerate() {
                let caller =
                    stack.frames.get(frame + 1).map(|caller| (caller.method, caller.depth, caller.run));
                if caller.is_none() && !stack.whole {
                    continue;
                }
                let any = (Some(stack.thread), ANY, found.depth, None);
                for key in keys(stack, frame).chain([any]) {
                    let seen = callers.seen.entry(key).or_default();
                    seen.places.push((stack.time, at, frame));
                    seen.several |= *seen.first.get_or_insert(caller) != caller;
                }
                callers.depths.entry((stack.thread, found.method)).or_default().insert(found.depth);
            }
        }
        callers.links = stacks.iter().map(|stack| callers.caller(stacks, stack)).collect();
        callers
    }

    /// Who called the oldest frame of each stack.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Whether a method at a depth has been called by several.
    pub fn has_several(&self, Activation { thread, method, depth }: Activation) -> bool {
        self.seen.get(&(Some(thread), method, depth, None)).is_some_and(|seen| seen.several)
    }

    /// How many callers of a stack's youngest method there is no doubt of; `None` if there is none of any. `of_java` is how many
    /// methods each run has.
    pub fn sure(&self, stacks: &[Stack], at: usize, of_java: &[u32]) -> Option<u32> {
        /// Beyond that it is not looked.
        const ENOUGH: u32 = 256;
        let (mut at, mut frame, mut given, mut methods) = (at, 0, true, 0u32);
        while methods <= ENOUGH {
            let stack = &stacks[at];
            methods += of_java.get(stack.frames[frame].run as usize).copied().unwrap_or(0);
            let last = frame + 1 == stack.frames.len();
            // What the sample itself has is given.
            let sure = if last { self.links[at].is_unique() } else { given || self.is_unique(stack, frame) };
            match self.links[at] {
                _ if !sure => return Some(methods.saturating_sub(1)),
                _ if !last => frame += 1,
                Link::Caller { stack, frame: of_it, .. } => (at, frame, given) = (stack, of_it, false),
                Link::Beginning { .. } | Link::Unknown => return None,
            }
        }
        None
    }

    /// Whether the caller that a frame has is the only one that it was seen with.
    fn is_unique(&self, stack: &Stack, frame: usize) -> bool {
        keys(stack, frame).find_map(|key| self.seen.get(&key)).is_some_and(|seen| !seen.several)
    }

    fn caller(&self, stacks: &[Stack], stack: &Stack) -> Link {
        let Some(oldest) = stack.frames.len().checked_sub(1) else { return Link::Unknown };
        if stack.whole {
            return Link::Beginning { unique: true };
        }
        if let Some(found) = keys(stack, oldest).find_map(|key| self.seen.get(&key)) {
            return nearest(stacks, found, stack.time).unwrap_or(Link::Unknown);
        }
        // Not at this depth: what called something else from there at the time, or who called it a little more or less deep.
        let Frame { method, depth, .. } = stack.frames[oldest];
        if let Some(found) = self.seen.get(&(Some(stack.thread), ANY, depth, None)) {
            return nearest(stacks, found, stack.time).map_or(Link::Unknown, Link::doubted);
        }
        let near = self.depths.get(&(stack.thread, method)).and_then(|depths| {
            let less = depths.range(..depth).next_back();
            let near = less.into_iter().chain(depths.range(depth..).next());
            near.filter(|near| near.abs_diff(depth) <= FITS).min_by_key(|near| near.abs_diff(depth))
        });
        let found = near.and_then(|near| self.seen.get(&(Some(stack.thread), method, *near, None)));
        match found.and_then(|found| nearest(stacks, found, stack.time)) {
            Some(Link::Caller { stack, frame, .. }) if stacks[stack].frames[frame].depth >= depth => {
                Link::Unknown
            }
            Some(link) => link.doubted(),
            None => Link::Unknown,
        }
    }
}

/// What is known of a frame, the most that tells anything first.
fn keys(stack: &Stack, frame: usize) -> impl Iterator<Item = Key> {
    let Frame { method, depth, .. } = stack.frames[frame];
    let thread = Some(stack.thread);
    let callee = frame.checked_sub(1).map(|callee| stack.frames[callee]);
    let with_callee = callee.map(|callee| (thread, method, depth, Some((callee.method, callee.depth))));
    with_callee.into_iter().chain([(thread, method, depth, None), (None, method, depth, None)])
}

/// The caller that was seen nearest to a moment.
fn nearest(stacks: &[Stack], seen: &Seen, time: u64) -> Option<Link> {
    let behind = seen.places.partition_point(|&(then, ..)| then < time);
    let around = [behind.checked_sub(1), Some(behind)].into_iter().flatten();
    let places = around.filter_map(|at| seen.places.get(at));
    let &(_, stack, frame) = places.min_by_key(|(then, ..)| then.abs_diff(time))?;
    let unique = !seen.several;
    Some(match stacks[stack].frames.get(frame + 1) {
        Some(_) => Link::Caller { stack, frame: frame + 1, unique },
        None => Link::Beginning { unique },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A stack of frames, given with the oldest first, of which only the youngest are told.
    fn stack(time: u64, frames: &[(u64, u64)], near: usize) -> Stack {
        let frames: Vec<Frame> = frames.iter().rev().map(|&(method, depth)| frame(method, depth)).collect();
        let whole = near >= frames.len();
        Stack { thread: 1, time, frames: frames.into_iter().take(near).collect(), whole }
    }

    fn frame(method: u64, depth: u64) -> Frame {
        Frame { method, depth, run: method as u32 }
    }

    /// The methods of a stack with all of its callers, the youngest first; whether each was the only one that it could be.
    fn chain(stacks: &[Stack], callers: &Callers, at: usize) -> (Vec<u64>, bool) {
        let mut methods = Vec::new();
        let all_sure = callers.sure(stacks, at, &[0; 128]).is_none() && callers.links[at] != Link::Unknown;
        let (mut at, mut from) = (at, 0);
        loop {
            methods.extend(stacks[at].frames[from..].iter().map(|frame| frame.method));
            match callers.links[at] {
                Link::Caller { stack, frame, .. } => (at, from) = (stack, frame),
                Link::Beginning { .. } => return (methods, all_sure),
                Link::Unknown => return (methods, false),
            }
        }
    }

    /// Figure 6 of the paper: D is called by B and C, E by D and C, and depths tell which.
    #[test]
    fn depths_tell_contexts_apart() {
        const A: (u64, u64) = (1, 10);
        let pairs = [[A, (2, 50)], [A, (3, 40)], [(2, 50), (4, 90)], [(3, 40), (4, 80)], [(3, 40), (5, 50)]];
        let mut stacks: Vec<Stack> = pairs.iter().map(|pair| stack(0, pair, 2)).collect();
        stacks.iter_mut().skip(2).for_each(|stack| stack.whole = false);
        stacks.iter_mut().take(2).for_each(|stack| stack.whole = true);
        stacks.push(Stack { whole: false, ..stack(0, &[(4, 90), (5, 100)], 2) });
        let callers = Callers::of(&stacks);
        assert_eq!(chain(&stacks, &callers, 5), (vec![5, 4, 2, 1], true), "not by C");
        assert_eq!(chain(&stacks, &callers, 4), (vec![5, 3, 1], true));
    }

    /// Figure 7: two methods with frames of one size call a third; time tells which, and it is said that depth does not.
    #[test]
    fn of_several_callers_the_one_at_that_time_is_taken_and_it_is_said() {
        let one = [(1, 10), (2, 50), (4, 90), (5, 100)];
        let other = [(1, 10), (3, 50), (4, 90), (5, 100)];
        let mut stacks = Vec::new();
        for (phase, contexts) in [one, other].iter().enumerate() {
            let begun = 1000 * phase as u64;
            stacks.push(stack(begun, contexts, 9));
            stacks.extend((1..50).map(|i| stack(begun + i, contexts, 2)));
            stacks.push(stack(begun + 60, &contexts[..3], 2));
            stacks.push(stack(begun + 61, &contexts[..3], 2));
        }
        let callers = Callers::of(&stacks);
        for (at, found) in stacks.iter().enumerate().filter(|(_, stack)| !stack.whole) {
            let (methods, unique) = chain(&stacks, &callers, at);
            let by = if found.time < 1000 { 2 } else { 3 };
            assert_eq!(methods[methods.len() - 2], by, "at {}", found.time);
            assert_eq!(unique, found.frames[0].method == 4 && found.frames[1].method != 4, "{methods:?}");
        }
    }

    #[test]
    fn what_was_never_seen_with_a_caller_has_none() {
        let stacks = [stack(0, &[(1, 10), (2, 20), (3, 30)], 2)];
        assert_eq!(Callers::of(&stacks).links, [Link::Unknown]);
        // What another thread had at this place is better than nothing.
        let other = Stack { thread: 2, ..stack(0, &[(1, 10), (2, 20)], 9) };
        let both = Callers::of(&[stacks[0].clone(), other]);
        assert_eq!(both.links[0], Link::Caller { stack: 1, frame: 1, unique: true });
    }

    #[test]
    fn what_was_called_from_one_place_has_one_caller() {
        let whole = stack(0, &[(1, 10), (2, 48), (3, 90)], 9);
        let sibling = stack(1, &[(1, 10), (2, 48), (4, 90)], 1);
        let callers = Callers::of(&[whole, sibling]);
        assert_eq!(callers.links[1], Link::Caller { stack: 0, frame: 1, unique: false });
    }

    #[test]
    fn a_frame_that_is_being_built_fits_to_the_nearest_depth() {
        let whole = stack(0, &[(1, 10), (2, 48), (3, 90)], 9);
        let odd = stack(1, &[(1, 10), (2, 40), (3, 82)], 2);
        let callers = Callers::of(&[whole, odd]);
        assert_eq!(callers.links[1], Link::Caller { stack: 0, frame: 2, unique: false });
        let far = stack(1, &[(1, 10), (2, 4000), (3, 4082)], 2);
        let whole = stack(0, &[(1, 10), (2, 48), (3, 90)], 9);
        assert_eq!(Callers::of(&[whole, far]).links[1], Link::Unknown);
    }

    /// A node of a tree: its parent, before it, its method, and how large the frame is.
    fn tree() -> impl Strategy<Value = Vec<(usize, u64, u64)>> {
        let node = (any::<prop::sample::Index>(), 0..12u64, 1..6u64);
        prop::collection::vec(node, 1..60).prop_map(|nodes| {
            let mut tree = vec![(0, 100, 2)];
            for (parent, method, size) in nodes {
                tree.push((parent.index(tree.len()), method, size));
            }
            tree
        })
    }

    /// The frames from the root to a node.
    fn path(tree: &[(usize, u64, u64)], mut node: usize) -> Vec<(u64, u64)> {
        let mut up = vec![node];
        while node != 0 {
            node = tree[node].0;
            up.push(node);
        }
        let mut depth = 0;
        let down = up.into_iter().rev();
        down.map(|node| {
            depth += 16 * tree[node].2;
            (tree[node].1, depth)
        })
        .collect()
    }

    proptest! {
        /// Whatever the tree is: what is said to be unique is right, and callers begin less deep.
        #[test]
        fn what_is_unique_is_right(
            tree in tree(),
            visits in prop::collection::vec(any::<prop::sample::Index>(), 1..200),
            near in 1..4usize,
        ) {
            // Each node once as a whole: what is unique among all that is there.
            let mut stacks: Vec<Stack> =
                (0..tree.len()).map(|node| stack(node as u64, &path(&tree, node), 99)).collect();
            let nodes: Vec<usize> = visits.iter().map(|visit| visit.index(tree.len())).collect();
            stacks.extend(nodes.iter().zip(1000..).map(|(&node, time)| stack(time, &path(&tree, node), near)));
            let callers = Callers::of(&stacks);
            for (at, &node) in nodes.iter().enumerate() {
                let at = at + tree.len();
                let (methods, unique) = chain(&stacks, &callers, at);
                let truth: Vec<u64> = path(&tree, node).iter().rev().map(|&(method, _)| method).collect();
                prop_assert!(!unique || methods == truth, "{methods:?} is {truth:?}");
                if let Link::Caller { stack, frame, .. } = callers.links[at] {
                    let oldest = stacks[at].frames.last().unwrap();
                    prop_assert!(stacks[stack].frames[frame].depth < oldest.depth);
                }
            }
        }

        /// Where methods have frames of different sizes, so that no two paths to a method are as deep, all is found.
        #[test]
        fn a_simple_tree_is_found_whole(tree in tree(), near in 1..4usize) {
            // Each method has one node, so that depth is more than is needed.
            let tree: Vec<(usize, u64, u64)> =
                tree.iter().zip(0..).map(|(&(parent, _, size), method)| (parent, method, size)).collect();
            let stacks: Vec<Stack> = (0..tree.len() * 2)
                .map(|at| stack(at as u64, &path(&tree, at % tree.len()), if at % 7 == 0 { 99 } else { near + 1 }))
                .collect();
            let callers = Callers::of(&stacks);
            for at in 0..stacks.len() {
                let truth: Vec<u64> =
                    path(&tree, at % tree.len()).iter().rev().map(|&(method, _)| method).collect();
                prop_assert_eq!(chain(&stacks, &callers, at), (truth, true));
            }
        }
    }
}
