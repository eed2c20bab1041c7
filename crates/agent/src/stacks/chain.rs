//! Contexts of samples that are not walked to their end: the youngest frames and how deep in the stack each begins, which takes
//! the same time however deep that is. What called them is found afterwards, by who reads the profile, from other samples that
//! have a frame of the same method at the same depth with its caller (CallerChaining, of Inoue and Nakatani).
//!
//! Frames are named here and not later by a thread of ours: compiled code may be gone by then, and its place be another's.

use std::sync::atomic::{AtomicU8, Ordering};

use quipu_arena::append::Context;
use quipu_arena::layout::{frame, place_word, stack_base};
use quipu_jvm::hotspot::{Frame, Kind, Reach};

/// Java frames that a sample has. A frame and its caller are what the paper has; with two more, three levels of callers are
/// right in any case, and contexts are told apart that have a frame and its caller in common.
const NEAR: usize = stack_base::NEAR;
/// One stack out of so many of a thread is walked to its end: what is called once, long ago, is seldom among the youngest.
const SELDOM: u32 = 64;
/// Of so many one may be, if it is none of those that were met before.
const NOW_AND_THEN: u32 = 4;

/// How the contexts of events are found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum By {
    /// The stack is walked.
    #[default]
    Walk,
    /// Only its youngest frames; the rest is found afterwards.
    Chain,
    /// Both, to be compared.
    Both,
    /// They are not: there is the youngest frame only.
    None,
}

impl By {
    const ALL: [(&'static str, By); 4] =
        [("walk", By::Walk), ("chain", By::Chain), ("both", By::Both), ("none", By::None)];

    /// As people write it.
    pub fn parse(text: &str) -> Option<By> {
        By::ALL.iter().find(|(name, _)| *name == text).map(|&(_, by)| by)
    }
}

/// The same where signal handlers find it.
#[derive(Default)]
pub struct Chosen(AtomicU8);

impl Chosen {
    /// What was chosen last.
    pub fn get(&self) -> By {
        let chosen = self.0.load(Ordering::Acquire);
        By::ALL.iter().find(|(_, by)| *by as u8 == chosen).map_or(By::Walk, |&(_, by)| by)
    }

    /// From now on it is this.
    pub fn set(&self, by: By) {
        self.0.store(by as u8, Ordering::Release);
    }
}

/// How much of a stack a sample is to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    by: By,
    /// Of what is chained, all of it; or if it is new.
    whole: bool,
    news: bool,
}

impl Extent {
    /// All of it.
    pub const WALK: Extent = Extent { by: By::Walk, whole: true, news: false };

    /// Of a thread's sample with this number, where contexts are found so.
    pub fn of(by: By, number: u32) -> Extent {
        let chains = matches!(by, By::Chain | By::Both);
        Extent {
            by,
            whole: !chains || number.is_multiple_of(SELDOM),
            news: chains && number.is_multiple_of(NOW_AND_THEN),
        }
    }

    /// How far the stack is walked for it.
    pub fn reach(self) -> Reach {
        match self {
            Extent { by: By::Walk, .. } => Reach::Whole,
            Extent { by: By::Chain, whole: false, .. } => Reach::Near(NEAR),
            Extent { by: By::Chain | By::Both, .. } => Reach::Deep,
            Extent { by: By::None, .. } => Reach::Near(1),
        }
    }

    /// Whether all of the stack is wanted if what is near is new.
    pub fn wants_news(self) -> bool {
        self.news && !self.whole
    }

    /// The same, of all of the stack.
    pub fn made_whole(self) -> Extent {
        Extent { whole: true, ..self }
    }

    /// Whether nothing but the youngest frame is wanted.
    pub fn is_youngest(self) -> bool {
        self.by == By::None
    }

    /// Whether it is for chaining only, and whether also for that.
    pub fn chained(self) -> [bool; 2] {
        [self.by == By::Chain, matches!(self.by, By::Chain | By::Both)]
    }

    /// Of frames that were walked, those that a sample which is chained has, and whether there are no more.
    pub fn cut(self, frames: &[Frame], was_cut: bool) -> (&[Frame], bool) {
        if self.whole || was_cut {
            return (frames, !was_cut);
        }
        let depths = frames.iter().enumerate().filter(|(_, frame)| frame.kind == Kind::Depth);
        match depths.map(|(at, _)| at).nth(NEAR - 1).and_then(|at| frames.get(..=at)) {
            Some(near) => (near, false),
            None => (frames, true),
        }
    }
}

/// Whether where frames begin was told: of virtual threads it is not.
pub fn has_depths(frames: &[Frame]) -> bool {
    frames.iter().any(|frame| frame.kind == Kind::Depth)
}

/// What stands for the place where a frame begins.
pub fn base(parent: u32, depth: usize) -> Context {
    Context { code: (depth as u64).max(stack_base::LEAST), parent, place: place_word(frame::BASE, None) }
}

/// What stands for the beginning of the stack.
pub fn beginning() -> Context {
    Context { code: stack_base::BEGINNING, parent: 0, place: place_word(frame::BASE, None) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_chosen_has_a_name() {
        for (name, by) in By::ALL {
            assert_eq!(By::parse(name), Some(by));
            let chosen = Chosen::default();
            chosen.set(by);
            assert_eq!(chosen.get(), by);
        }
        assert_eq!(By::parse("guess"), None);
    }

    #[test]
    fn a_sample_that_is_chained_has_the_youngest_frames() {
        let frame = |kind, code| Frame { kind, code, bci: 0 };
        let mut frames = vec![frame(Kind::Machine, 1), frame(Kind::C2, 2), frame(Kind::C2, 3)];
        for depth in [400, 300, 200, 100] {
            frames.extend([frame(Kind::Depth, depth), frame(Kind::Interpreted, depth + 1)]);
        }
        let (near, whole) = Extent::of(By::Both, 1).cut(&frames, false);
        assert_eq!((near.last().unwrap().code, near.len(), whole), (100, 10, false));
        assert_eq!(Extent::of(By::Both, 0).cut(&frames, false), (&frames[..], true), "once in a while, all");
        assert_eq!(Extent::of(By::Chain, 1).cut(&frames[..4], true), (&frames[..4], false));
        assert_eq!(Extent::of(By::Both, 1).cut(&frames[..6], false), (&frames[..6], true), "no more");
    }
}
