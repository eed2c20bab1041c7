//! Numbers of instructions that are told from all others, for what is counted in ledgers: those that make objects, or lock.
//!
//! An instruction whose class is known has one number. Where only its execution tells what it is about, each class that it
//! meets has a number of its own.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use quipu_arena::record::Record;
use quipu_arena::writer::ArenaWriter;
use quipu_rewrite::Site;

use crate::locks::lock;
use crate::stacks::lost::{self, Cause};

/// Numbers at the most: what is told of them takes 100 MB.
const MOST: u32 = 1 << 20;

/// What tells sites apart: method, position and kind.
type Place = (u32, u32, &'static str);

/// Sites that have numbers.
#[derive(Default)]
pub struct Sites {
    known: Mutex<Known>,
    next: AtomicU32,
}

#[derive(Default)]
struct Known {
    numbers: HashMap<Place, u32>,
    /// Places, and what is measured there, of those whose classes are met one by one.
    places: HashMap<u32, Place>,
    met: HashMap<(u32, Box<[u8]>), u32>,
    kinds: HashMap<&'static str, Kind>,
}

/// What a kind of measurement has sites for.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Number of the metric that values are of.
    pub metric: u16,
    /// One of [`quipu_arena::layout::detail`].
    pub detail: u32,
}

impl Sites {
    /// What an instrument's sites measure from now on.
    pub fn measure(&self, of: &'static str, kind: Kind) {
        lock(&self.known).kinds.insert(of, kind);
    }

    /// The number of a site. The same place keeps it.
    pub fn number(&self, arena: &ArenaWriter, site: &Site<'_>) -> Option<u32> {
        let place = (site.method, site.bci, site.of);
        let mut known = lock(&self.known);
        if let Some(&number) = known.numbers.get(&place) {
            return Some(number);
        }
        let number = self.tell(arena, &known, place, site.class, false)?;
        known.numbers.insert(place, number);
        if site.class.is_empty() {
            known.places.insert(number, place);
        }
        Some(number)
    }

    /// The number of a site for what it is about when it is executed: a class, by its signature.
    pub fn meet(&self, arena: &ArenaWriter, site: u32, class: &[u8]) -> Option<u32> {
        let mut known = lock(&self.known);
        let key = (site, class.into());
        if let Some(&number) = known.met.get(&key) {
            return Some(number);
        }
        let place = *known.places.get(&site)?;
        let number = self.tell(arena, &known, place, class, true)?;
        known.met.insert(key, number);
        Some(number)
    }

    fn tell(&self, arena: &ArenaWriter, known: &Known, place: Place, class: &[u8], met: bool) -> Option<u32> {
        let (method, bci, of) = place;
        let kind = known.kinds.get(of)?;
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let (metric, detail) = (u32::from(kind.metric), kind.detail);
        let record = Record::Site { id, method, bci, metric, kind: detail, met: met.into(), name: class };
        let told = id <= MOST && arena.log(&record).is_some();
        if !told {
            lost::count(arena, Cause::NoRoomForDetail);
        }
        told.then_some(id)
    }
}

/// A class's name without what is different in every run: a lambda's has a number, a hidden class's where it is in memory.
pub fn lasting(signature: &[u8]) -> Vec<u8> {
    const LAMBDA: &[u8] = b"$$Lambda";
    /// What comes behind the name of a hidden class.
    const HIDDEN: &[u8] = b".0x";
    let at = |text: &[u8]| signature.windows(text.len()).position(|part| part == text);
    match at(LAMBDA).map(|at| at + LAMBDA.len()).or_else(|| at(HIDDEN)) {
        Some(end) => {
            let mut name = signature.get(..end).unwrap_or_default().to_vec();
            name.push(b';');
            name
        }
        None => signature.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::lasting;

    #[test]
    fn lambdas_have_the_same_name_in_every_run() {
        assert_eq!(lasting(b"Lapp/Main$$Lambda$14.0x0000000800c03000;"), b"Lapp/Main$$Lambda;");
        assert_eq!(lasting(b"Lapp/Main$Form.0x0000000800c03000;"), b"Lapp/Main$Form;");
        assert_eq!(lasting(b"Lapp/Main;"), b"Lapp/Main;");
    }
}
