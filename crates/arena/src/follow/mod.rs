//! What chosen methods do from one moment to the next, read from an arena while the target fills it.
//!
//! A suite of ten thousand tests cannot read a whole arena after each of them. A [`Follower`] looks at every node once,
//! when it is new: parents come before their children, so a node belongs to the method it is below as soon as its
//! parent does. What a method has done is then the sum over its nodes, and what one run of it did is the difference to
//! the sum before.
//!
//! Runs are told apart by tree: each tree is one thread's at a time, so tests of one method that run at the same time
//! on different threads do not get each other's work.

mod done;
mod methods;
mod shares;
mod sum;

pub use done::Done;

use std::cmp::Reverse;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use crate::layout::{self, chunk, header, node};
use crate::writer::ArenaWriter;
use methods::Methods;
use shares::Shares;
use sum::Sum;

/// A method to follow, or several.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Followed {
    /// Its class, as records name it.
    pub class: Vec<u8>,
    /// Its name.
    pub name: Name,
    /// Its descriptor; any if none.
    pub descriptor: Option<Vec<u8>>,
}

/// How methods are named that are followed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Name {
    /// Like this.
    Is(Vec<u8>),
    /// Beginning like this.
    Begins(Vec<u8>),
}

impl Followed {
    fn is(&self, name: &[u8], descriptor: &[u8]) -> bool {
        let named = match &self.name {
            Name::Is(wanted) => wanted == name,
            Name::Begins(prefix) => name.starts_with(prefix),
        };
        named && self.descriptor.as_ref().is_none_or(|wanted| wanted == descriptor)
    }
}

/// What it takes to follow an arena.
pub struct Follower {
    /// Where the next chunk begins that has not been seen.
    unseen: u64,
    methods: Methods,
    shares: Shares,
}

/// A chunk, and how far it was read.
#[derive(Clone, Copy)]
struct Progress {
    at: u64,
    size: u64,
    read: u64,
}

impl Follower {
    /// One that follows nothing yet. Methods with names that `left_out` accepts do nothing that counts, nor do the methods
    /// that they call.
    pub fn new(left_out: fn(&[u8]) -> bool) -> Follower {
        Follower { unseen: layout::HEADER_SIZE, methods: Methods::new(left_out), shares: Shares::default() }
    }

    /// Follows a method from now on; returns its number.
    pub fn follow(&mut self, wanted: Followed) -> u32 {
        self.methods.follow(wanted)
    }

    /// What a followed method has done until now, on the thread that owns the tree around the offset `near`, is not part of
    /// what the next [`Follower::end`] tells.
    pub fn begin(&mut self, arena: &ArenaWriter, number: u32, near: u64) {
        self.read(arena);
        self.ask_near(arena, number, near);
    }

    /// What a followed method did since the last time, on the thread that owns the tree around the offset `near`; if it did
    /// not run there, on others.
    pub fn end(&mut self, arena: &ArenaWriter, number: u32, near: u64) -> Done {
        self.read(arena);
        let done = self.ask_near(arena, number, near);
        if done.runs > 0 {
            return done;
        }
        self.shares.of(number).into_iter().fold(done, |sum, share| sum.plus(&self.ask(arena, share)))
    }

    /// What a followed method has done since the beginning, on all threads, and what each method executed itself below
    /// it, of so many methods: `class.name` and bytecodes, most first.
    pub fn total(&mut self, arena: &ArenaWriter, number: u32, hottest: usize) -> (Done, Vec<(Vec<u8>, u64)>) {
        self.read(arena);
        let shares = self.shares.of(number);
        let shares = shares.iter().filter_map(|at| self.shares.get(*at));
        let (done, hot) = shares.fold(Sum::new(arena, &self.methods).of_each_method(), Sum::add).finish();
        let mut hot: Vec<(u32, u64)> = hot.into_iter().filter(|(_, executed)| *executed > 0).collect();
        hot.sort_unstable_by_key(|&(id, executed)| (Reverse(executed), id));
        hot.truncate(hottest);
        let named = hot.into_iter().filter_map(|(id, executed)| Some((self.methods.name(id)?, executed)));
        (done, named.collect())
    }

    fn ask_near(&mut self, arena: &ArenaWriter, number: u32, near: u64) -> Done {
        self.shares.near(number, near).map_or_else(Done::default, |share| self.ask(arena, share))
    }

    /// The difference to the last time.
    fn ask(&mut self, arena: &ArenaWriter, share: u32) -> Done {
        let Some(share) = self.shares.get_mut(share) else { return Done::default() };
        let (now, _) = Sum::new(arena, &self.methods).add(share).finish();
        now.minus(&std::mem::replace(&mut share.told, now))
    }

    /// Reads what is new.
    fn read(&mut self, arena: &ArenaWriter) {
        let end = arena.long(header::USED).load(Acquire);
        while self.unseen < end {
            let at = self.unseen;
            let size = arena.long(at + chunk::SIZE).load(Relaxed);
            if size < chunk::HEADER || at + size > end {
                break;
            }
            let chunk = Progress { at, size, read: chunk::HEADER };
            match arena.word(at + chunk::KIND).load(Relaxed) {
                layout::CHUNK_LOG => self.methods.add_log(chunk),
                layout::CHUNK_NODES => {
                    self.shares.add_chunk(chunk, arena.word(at + chunk::TREE).load(Relaxed));
                }
                _ => {}
            }
            self.unseen += size;
        }
        // Nodes last: a method is in the log before it has any.
        self.methods.read(arena);
        self.shares.read(arena, &self.methods);
    }
}

/// Size of a node in bytes.
fn size(arena: &ArenaWriter, at: u64) -> u64 {
    8 * (arena.long(at + node::STRIDE).load(Relaxed) & 0xffff)
}

#[cfg(test)]
mod tests;
