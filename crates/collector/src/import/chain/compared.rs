//! Contexts that were chained, compared with those that were walked for the same samples.

use std::collections::{HashMap, HashSet};

use quipu_arena::sampled::{Context, Sampled};

use super::is_java;
use super::table::Same;

/// Frames that are compared in all, in hostile files.
const MOST_LOOKS: usize = 1 << 28;

/// What was walked.
pub struct Compared {
    /// By thread and time.
    walked: HashMap<(u32, u64), u32>,
    known: HashMap<(u32, u32), Same>,
    looks: usize,
}

impl Compared {
    /// Samples that were walked; the others are these.
    pub fn of(sampled: &Sampled, chained: &[usize]) -> Compared {
        let chained: HashSet<usize> = chained.iter().copied().collect();
        let walked = sampled.samples.iter().enumerate().filter(|(at, _)| !chained.contains(at));
        let walked = walked.map(|(_, sample)| ((sample.thread, sample.time), sample.context)).collect();
        Compared { walked, known: HashMap::new(), looks: MOST_LOOKS }
    }

    /// How much of a context is the same as what was walked at that moment, if something was.
    pub fn same(&mut self, contexts: &[Context], moment: (u32, u64), context: u32) -> Option<Same> {
        let walked = *self.walked.get(&moment)?;
        if let Some(&known) = self.known.get(&(walked, context)) {
            return Some(known);
        }
        let (mut left, mut right) = (methods(contexts, walked), methods(contexts, context));
        let mut equal = 0u32;
        let all = loop {
            self.looks = self.looks.checked_sub(1)?;
            match (left.next(), right.next()) {
                (None, None) => break true,
                (a, b) if a == b => equal = equal.saturating_add(1),
                _ => break false,
            }
        };
        let same = Same { callers: equal.saturating_sub(1), all };
        self.known.insert((walked, context), same);
        Some(same)
    }
}

/// The Java methods of a context, the youngest first.
fn methods(contexts: &[Context], context: u32) -> impl Iterator<Item = u64> + '_ {
    let caller = move |&index: &u32| {
        let parent = contexts.get(index as usize)?.parent?;
        // What was chained lies behind what was written, each behind its callers.
        (parent < index).then_some(parent)
    };
    let frames = std::iter::successors(Some(context), caller);
    frames
        .filter_map(move |index| contexts.get(index as usize))
        .filter(|frame| is_java(frame))
        .map(|frame| frame.code)
}
