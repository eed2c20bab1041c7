//! Contexts of samples that have only the youngest frames of their stacks (CallerChaining, of Inoue and Nakatani).
//!
//! Of each frame it is known how deep in the stack it begins. A frame of a method at some depth has been seen with its caller
//! in other samples, and that with its caller, and so on: these are chained, back to a sample that has the beginning of the
//! stack. If a method was called at one depth by several, more than depth tells which: the thread, the callee that is known,
//! and time, since the older a frame is, the longer it stays. Of callers seen equally often around a moment that is a draw in
//! which each has the share that it has of the samples.

mod callers;
mod compared;
mod table;

use std::collections::HashMap;

use quipu_arena::layout::{frame, mark, stack_base};
use quipu_arena::reader::Contents;
use quipu_arena::sampled::{Context, Sampled};

use callers::{Activation, Callers, Frame, Link, Stack};
use compared::Compared;
pub use table::Table;

/// Contexts that may be made for each that was written.
const MORE: usize = 8;
/// Contexts that are looked at for each that was written, to find what frames samples have.
const LOOKS: usize = 32;
/// Frames that samples may have, for each sample and for each context: four of each sample are the rule. What is known of a frame
/// takes some 700 bytes at the most.
const OF_SAMPLE: usize = 8;
const OF_CONTEXT: usize = 2;

/// Gives samples that have only their youngest frames their contexts; how well that went, if there are any.
pub fn rebuild(contents: &mut Contents<'_>) -> Option<Table> {
    let sampled = &mut contents.sampled;
    let Chained { samples, stacks, runs } = Chained::of(sampled);
    if samples.is_empty() {
        return None;
    }
    let callers = Callers::of(&stacks);
    let built = Building::new(sampled, &runs).build(&stacks, &callers);
    let mut table = Table::default();
    table.count_nodes(built.nodes.iter().map(|&node| callers.has_several(node)));
    let of_java: Vec<u32> =
        runs.iter().map(|run| run.iter().filter(|frame| is_java(frame)).count() as u32).collect();
    let mut compared = Compared::of(sampled, &samples);
    sampled.contexts.extend(built.made);
    for (number, (&at, context)) in samples.iter().zip(built.of_stacks).enumerate() {
        table.count(callers.sure(&stacks, number, &of_java), callers.links()[number] == Link::Unknown);
        let (Some(context), Some(sample)) = (context, sampled.samples.get_mut(at)) else { continue };
        sample.context = context;
        let (thread, time) = (sample.thread, sample.time);
        // Those that were walked to their end prove nothing, unless that was near.
        if (!stacks[number].whole || stacks[number].frames.len() <= stack_base::NEAR)
            && let Some(same) = compared.same(&sampled.contexts, (thread, time), context)
        {
            table.compare(same);
        }
    }
    Some(table)
}

/// Samples that are chained.
struct Chained {
    /// Which they are.
    samples: Vec<usize>,
    /// Their stacks.
    stacks: Vec<Stack>,
    /// Frames that are inlined into each other, the oldest first, by the number of such a run.
    runs: Vec<Vec<Context>>,
}

impl Chained {
    fn of(sampled: &Sampled) -> Chained {
        let is_chained = roots(&sampled.contexts);
        let mut known: HashMap<u32, Option<(Vec<Frame>, bool)>> = HashMap::new();
        let contexts = &sampled.contexts[..];
        let looks = contexts.len().saturating_mul(LOOKS);
        let mut room = OF_CONTEXT * contexts.len() + OF_SAMPLE * sampled.samples.len();
        let mut decoder = Decoder { contexts, looks, runs: Vec::new(), numbers: HashMap::new() };
        let (mut samples, mut stacks) = (Vec::new(), Vec::new());
        for (at, sample) in sampled.samples.iter().enumerate() {
            if is_chained.get(sample.context as usize) != Some(&true) {
                continue;
            }
            let decoded = known.entry(sample.context).or_insert_with(|| decoder.decode(sample.context));
            let Some((frames, whole)) = decoded else { continue };
            // Those for which there is none stay as they are.
            let Some(left) = room.checked_sub(frames.len()) else { continue };
            room = left;
            let (frames, whole) = (frames.clone(), *whole);
            samples.push(at);
            stacks.push(Stack { thread: sample.thread, time: sample.time, frames, whole });
        }
        Chained { samples, stacks, runs: decoder.runs }
    }
}

/// Whether contexts begin with a place in the stack.
fn roots(contexts: &[Context]) -> Vec<bool> {
    let mut chained: Vec<bool> = Vec::with_capacity(contexts.len());
    for context in contexts {
        chained.push(match context.parent {
            Some(parent) => chained.get(parent as usize).copied().unwrap_or(false),
            None => context.kind == frame::BASE,
        });
    }
    chained
}

struct Decoder<'c> {
    contexts: &'c [Context],
    /// Contexts that may still be looked at.
    looks: usize,
    runs: Vec<Vec<Context>>,
    numbers: HashMap<Vec<(u64, u32, Option<u32>)>, u32>,
}

impl Decoder<'_> {
    /// The frames of a context, the youngest first, and whether they are all; `None` if they make no sense.
    fn decode(&mut self, context: u32) -> Option<(Vec<Frame>, bool)> {
        let (mut frames, mut run): (Vec<Frame>, Vec<Context>) = (Vec::new(), Vec::new());
        let (mut at, mut whole) = (Some(context), false);
        while let Some(index) = at {
            self.looks = self.looks.checked_sub(1)?;
            let found = *self.contexts.get(index as usize)?;
            // Callers come before those they call.
            at = found.parent.filter(|&parent| parent < index);
            match (found.kind, found.code) {
                (frame::BASE, stack_base::BEGINNING) => whole = true,
                (frame::BASE, depth) => {
                    if frames.last().is_some_and(|younger| younger.depth <= depth) {
                        return None;
                    }
                    run.reverse();
                    // What was called last is machine code, if that was interrupted.
                    let method = run.iter().find(|frame| is_java(frame))?.code;
                    frames.push(Frame { method, depth, run: self.number(std::mem::take(&mut run)) });
                }
                _ => run.push(found),
            }
        }
        // Stubs at the beginning of a stack have no place of their own.
        (!frames.is_empty() && (run.is_empty() || whole)).then_some((frames, whole))
    }

    fn number(&mut self, run: Vec<Context>) -> u32 {
        let key = run.iter().map(|frame| (frame.code, frame.kind, frame.bci)).collect();
        let next = self.runs.len() as u32;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.runs.push(run);
        }
        number
    }
}

fn is_java(context: &Context) -> bool {
    (frame::JAVA..=frame::NATIVE).contains(&context.kind)
}

/// Contexts that are made.
struct Building<'r> {
    runs: &'r [Vec<Context>],
    /// How many there were.
    before: usize,
    most: usize,
    made: Vec<Context>,
    numbers: HashMap<(Option<u32>, u64, u32, Option<u32>), u32>,
    /// Nodes as the paper counts them: frames of a method at a depth, below their callers'.
    nodes: HashMap<(Option<u32>, Activation), u32>,
}

struct Built {
    made: Vec<Context>,
    of_stacks: Vec<Option<u32>>,
    nodes: Vec<Activation>,
}

/// The context of a frame, and its node.
#[derive(Clone, Copy)]
struct Place {
    context: u32,
    node: u32,
}

impl<'r> Building<'r> {
    fn new(sampled: &Sampled, runs: &'r [Vec<Context>]) -> Building<'r> {
        let before = sampled.contexts.len();
        let most = before.saturating_mul(MORE).min(u32::MAX as usize - before);
        Building { runs, before, most, made: Vec::new(), numbers: HashMap::new(), nodes: HashMap::new() }
    }

    fn build(mut self, stacks: &[Stack], callers: &Callers) -> Built {
        // A caller begins less deep than what it calls.
        let mut order: Vec<(u64, u32, u32)> = Vec::new();
        for (at, stack) in stacks.iter().enumerate() {
            let depths = stack.frames.iter().zip(0..);
            order.extend(depths.map(|(found, frame)| (found.depth, at as u32, frame)));
        }
        order.sort_unstable();
        // None beyond what may be made: those samples stay as they are.
        let mut places: Vec<Vec<Option<Place>>> =
            stacks.iter().map(|stack| vec![None; stack.frames.len()]).collect();
        for (_, at, frame) in order {
            let (at, frame) = (at as usize, frame as usize);
            let stack = &stacks[at];
            let caller = match callers.links()[at] {
                _ if frame + 1 < stack.frames.len() => places[at][frame + 1].map(Some),
                Link::Caller { stack, frame, .. } => places[stack][frame].map(Some),
                Link::Beginning { .. } => Some(None),
                Link::Unknown => {
                    self.find(None, unknown()).map(|context| Some(Place { context, node: u32::MAX }))
                }
            };
            places[at][frame] = caller.and_then(|caller| self.place(caller, stack, frame));
        }
        let of_stacks = places.iter().map(|of| Some((*of.first()?)?.context)).collect();
        let nodes = self.nodes.into_keys().map(|(_, node)| node).collect();
        Built { made: self.made, of_stacks, nodes }
    }

    fn place(&mut self, caller: Option<Place>, stack: &Stack, frame: usize) -> Option<Place> {
        let found = stack.frames[frame];
        let runs = self.runs;
        let mut context = caller.map(|caller| caller.context);
        for &like in &runs[found.run as usize] {
            context = Some(self.find(context, like)?);
        }
        let activation = Activation { thread: stack.thread, method: found.method, depth: found.depth };
        let next = self.nodes.len() as u32;
        let node = *self.nodes.entry((caller.map(|caller| caller.node), activation)).or_insert(next);
        Some(Place { context: context?, node })
    }

    fn find(&mut self, parent: Option<u32>, like: Context) -> Option<u32> {
        let key = (parent, like.code, like.kind, like.bci);
        if let Some(&known) = self.numbers.get(&key) {
            return Some(known);
        }
        if self.made.len() >= self.most {
            return None;
        }
        let number = (self.before + self.made.len()) as u32;
        self.made.push(Context { parent, ..like });
        self.numbers.insert(key, number);
        Some(number)
    }
}

/// Stands for callers that are not known.
fn unknown() -> Context {
    Context { code: mark::NOT_CHAINED, parent: None, kind: frame::MARK, bci: None }
}
