//! The nodes that samples belong to. While everything is counted, that is one which has counts; other contexts are stacks that
//! were walked.

use std::collections::HashMap;

use quipu_arena::layout::frame;
use quipu_arena::reader::Contents;
use quipu_arena::sampled::Context;
use quipu_profile::{Builder, NodeId, ThreadId, UNKNOWN_SITE};

use crate::import::budget::Budget;
use crate::import::methods::{Methods, foreign};
use crate::import::nodes::{Counted, Placed};
use crate::import::threads::Threads;

/// Methods that a lambda or a method handle leads through, one after the other; more than there ever are.
const MOST_GLUE: usize = 64;

/// When a sample was taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Moment {
    /// While the youngest frame ran.
    Within,
    /// At the entry of the youngest frame, which has not published anything yet: the sample is of the call that led there. What
    /// lambdas and method handles are made of is passed through, as where calls are counted by inserted code.
    Entry,
}

/// Where a sample belongs.
#[derive(Clone, Copy)]
pub struct Place {
    pub thread: ThreadId,
    pub node: NodeId,
    /// Where the node's method was.
    pub bci: Option<u32>,
}

/// Where counts are that a walked stack leads to.
#[derive(Clone, Copy)]
struct Counts {
    place: Place,
    /// Whether the youngest frame's method has counts of its own there.
    own: bool,
}

/// How far the frames of a walked stack have led through nodes with counts.
#[derive(Clone, Copy)]
struct Reached {
    node: NodeId,
    /// Where the method of the last frame was, if the node is its own.
    bci: Option<u32>,
    own: bool,
    /// Where the last frame calls the next one.
    site: i32,
}

/// Finds nodes for contexts, or makes them.
pub struct Places<'a> {
    contents: &'a Contents<'a>,
    placed: &'a Placed,
    pub methods: &'a mut Methods,
    pub threads: &'a mut Threads,
    pub builder: &'a mut Builder,
    /// Whether two calls of a method from different places are two contexts.
    sites: bool,
    /// Where each context of a thread's leads through nodes with counts.
    reached: HashMap<(ThreadId, u32), Reached>,
    /// Node of a context in a thread's tree.
    nodes: HashMap<(ThreadId, u32, Moment), NodeId>,
    /// What may still come: nodes, labels.
    pub budget: Budget,
}

impl<'a> Places<'a> {
    /// In the trees of `builder`, of which nodes with counts are there already.
    pub fn new(
        contents: &'a Contents<'a>,
        placed: &'a Placed,
        methods: &'a mut Methods,
        threads: &'a mut Threads,
        builder: &'a mut Builder,
    ) -> Places<'a> {
        Places {
            contents,
            placed,
            methods,
            threads,
            builder,
            sites: contents.facts(b"sampling.sites").next().is_some(),
            reached: HashMap::new(),
            nodes: HashMap::new(),
            budget: Budget::of(contents.size()),
        }
    }

    /// Where a sample belongs; `None` for that of a call to a method that is not counted, while others are.
    pub fn place(&mut self, thread: u32, context: u32, moment: Moment) -> Option<Place> {
        let of = |counts: Counts| (counts.own || moment == Moment::Within).then_some(counts.place);
        if let Some(found) = published(self.contents, context)
            && let Some(counts) = self.place_published(&found, moment)
        {
            return of(counts);
        }
        let thread = self.threads.of_sample(self.builder, thread);
        if let Some(counts) = self.counted(thread, context) {
            return of(counts);
        }
        let node = self.node(thread, context, moment);
        let youngest = self.context(context).filter(|youngest| is_java(youngest.kind));
        Some(Place { thread, node, bci: youngest.and_then(|youngest| youngest.bci) })
    }

    /// The method that ran may be one that publishes nothing, because it calls nothing: then it is a callee of the one that
    /// did. One that is not counted works for the one that is; below no method at all, one without contexts has its counts
    /// below the thread's root. One that is being entered has published nothing, even if the slot is one of its own: that is of
    /// the call before.
    fn place_published(&mut self, found: &Published, moment: Moment) -> Option<Counts> {
        let (Counted { node, thread }, method, site) =
            self.placed.publisher(self.contents, self.methods, found.slot)?;
        let running = found.running.map(|frame| (self.methods.of_frame(self.builder, frame), frame.bci));
        let (node, bci, own) = match running {
            Some((running, bci)) if Some(running) == method && moment == Moment::Within => (node, bci, true),
            Some((running, bci)) => {
                let callee = self.placed.callee(node, running, site);
                match callee.or_else(|| self.placed.tallied(node, running)) {
                    Some(callee) => (callee, bci, true),
                    None => (node, None, false),
                }
            }
            None => (node, None, false),
        };
        Some(Counts { place: Place { thread, node, bci }, own })
    }

    /// A stack that was walked while everything is counted: the methods that are counted lead to the context. The others
    /// have none of their own, nor has what is called by a method that is not looked into; where no method has any, the whole
    /// stack is the context. Stacks share most of their frames, and each is looked at once.
    fn counted(&mut self, thread: ThreadId, context: u32) -> Option<Counts> {
        if self.placed.is_empty() {
            return None;
        }
        let root = self.builder.root(thread);
        let mut reached = Reached { node: root, bci: None, own: false, site: UNKNOWN_SITE };
        let mut missing = Vec::new();
        let mut at = Some(context);
        while let Some(index) = at {
            if let Some(&known) = self.reached.get(&(thread, index)) {
                reached = known;
                break;
            }
            if !self.budget.take() {
                return None;
            }
            missing.push(index);
            at = self.context(index)?.parent;
        }
        for index in missing.into_iter().rev() {
            if let Some(frame) = self.context(index).filter(|frame| frame.kind <= frame::NATIVE) {
                reached = self.reach(reached, frame);
            }
            self.reached.insert((thread, index), reached);
        }
        let Reached { node, bci, own, .. } = reached;
        (node != root).then_some(Counts { place: Place { thread, node, bci }, own })
    }

    /// One frame more.
    fn reach(&mut self, caller: Reached, frame: Context) -> Reached {
        let method = self.methods.of_frame(self.builder, frame);
        let site = frame.bci.and_then(|bci| i32::try_from(bci).ok()).unwrap_or(UNKNOWN_SITE);
        match self.placed.callee(caller.node, method, caller.site) {
            Some(node) => Reached { node, bci: frame.bci, own: true, site },
            None => Reached { node: caller.node, bci: None, own: false, site },
        }
    }

    /// The node of a context. Stacks can be thousands deep, so this does not recurse.
    fn node(&mut self, thread: ThreadId, context: u32, moment: Moment) -> NodeId {
        let mut missing = Vec::new();
        let mut at = Some(context);
        let mut node = self.builder.root(thread);
        while let Some(context) = at {
            if let Some(&known) = self.nodes.get(&(thread, context, moment)) {
                node = known;
                break;
            }
            if !self.budget.take() {
                self.budget.refuse();
                return self.beyond(thread);
            }
            missing.push(context);
            at = self.context(context).and_then(|context| context.parent);
        }
        for context in missing.into_iter().rev() {
            let Some(frame) = self.context(context) else { continue };
            let mut caller = frame.parent.and_then(|parent| self.context(parent));
            if moment == Moment::Entry {
                if self.is_glue(frame) {
                    self.nodes.insert((thread, context, moment), node);
                    continue;
                }
                for _ in 0..MOST_GLUE {
                    let Some(glue) = caller.filter(|&caller| self.is_glue(caller)) else { break };
                    caller = glue.parent.and_then(|parent| self.context(parent));
                }
            }
            let method = self.methods.of_frame(self.builder, frame);
            // Code of a library without names is one place, however deep.
            let above = caller.filter(|caller| caller.kind == frame::FOREIGN);
            let above = above.map(|above| self.methods.of_frame(self.builder, above));
            if !(self.methods.is_nameless(method) && above == Some(method)) {
                // Two contexts that differ in the place of a frame are one, unless the user wants to tell them apart.
                let site = caller.filter(|_| self.sites).and_then(|caller| i32::try_from(caller.bci?).ok());
                node = self.builder.child(node, method, site.unwrap_or(UNKNOWN_SITE));
            }
            self.nodes.insert((thread, context, moment), node);
        }
        node
    }

    /// Stands for all contexts of a thread that are beyond what the arena can have.
    fn beyond(&mut self, thread: ThreadId) -> NodeId {
        let method = foreign(self.builder, "[contexts beyond number]");
        let root = self.builder.root(thread);
        self.builder.child(root, method, UNKNOWN_SITE)
    }

    /// Whether what runs is nothing that is called by the program.
    pub fn enters_glue(&mut self, context: u32) -> bool {
        self.context(context).is_some_and(|frame| self.is_glue(frame))
    }

    fn is_glue(&mut self, frame: Context) -> bool {
        let method = self.methods.of_frame(self.builder, frame);
        self.methods.is_glue(method)
    }

    /// The frame of a context.
    pub fn context(&self, index: u32) -> Option<Context> {
        self.contents.sampled.contexts.get(index as usize).copied()
    }
}

/// A context in the tree of exact counts: the slot that was published, and the method that ran, if that is known.
pub struct Published {
    pub slot: u64,
    running: Option<Context>,
}

/// The slot that a thread had published in this context, if it is one of those.
pub fn published(contents: &Contents<'_>, context: u32) -> Option<Published> {
    let context = contents.sampled.contexts.get(context as usize).copied()?;
    if context.kind == frame::PUBLISHED {
        return Some(Published { slot: context.code, running: None });
    }
    let above = contents.sampled.contexts.get(context.parent? as usize)?;
    (above.kind == frame::PUBLISHED).then_some(Published { slot: above.code, running: Some(context) })
}

/// Whether a frame is of a Java method with a known place.
fn is_java(kind: u32) -> bool {
    (frame::JAVA..=frame::C2).contains(&kind)
}
