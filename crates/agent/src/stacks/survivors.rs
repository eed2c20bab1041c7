//! Objects that are watched until they are gone: a weak reference and a place in the arena for each. After a collection our own
//! thread looks which are left, writes down how many collections they have survived, and adds a point to the series of what
//! each context's objects of each class take. So the arena says at every moment what there was after the last look.
//!
//! Memory grows with the number of watched objects that are alive, not with time: 48 bytes of the arena each, about 100 of the
//! process, and 144 of the arena for each context and class. When the arena is full, objects are not watched, and counted as
//! lost.
//!
//! Threads that make objects hold the lock for a moment only, and never while they ask the VM: the collector may be waiting
//! for them.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use quipu_arena::append::Sample;
use quipu_arena::layout::growth;
use quipu_arena::watched::Places;
use quipu_arena::writer::ArenaWriter;
use quipu_jvm::jni::kind;
use quipu_jvm::{Env, Object, Weak, sys};

use super::lost::{self, Cause};
use crate::locks::lock;

/// How many objects are looked at while others cannot add theirs.
const BATCH: usize = 1024;

/// A look begins when this many times as long as the last one took have passed.
const REST: u32 = 9;

/// Context, thread and class.
type Site = [u32; 3];

/// An object.
struct Watched {
    weak: Weak<kind::Object>,
    /// Its place in the arena.
    at: u64,
    site: Site,
    bytes: u64,
    /// How many collections there had been when it was made.
    born: u32,
}

/// The objects. Only who holds [`Looks`] takes some out.
struct Objects {
    /// Which watching this is, while objects are watched. A sample may have begun in one and come here in none, or in the next.
    watching: Option<u32>,
    all: Vec<Watched>,
    places: Places,
    /// Places of those that are not watched any more, which tell what there was at the end.
    left: Vec<u64>,
}

/// What was found from one look to the next.
struct Looks {
    series: Option<Series>,
    places: Places,
    /// After how many collections was looked last; and when that ended, and how long it took.
    after: u32,
    ended: Option<(Instant, Duration)>,
}

/// Points by site, all of the same moments. The last one is that of now; when there is no room for more, every other one
/// goes.
#[derive(Default)]
struct Series {
    sites: HashMap<Site, (u64, [u64; growth::MOST])>,
    /// The numbers of collections, and their place in the arena.
    collections: [u64; growth::MOST],
    at: Option<u64>,
    /// Looks so far, and looks from one point to the next.
    looks: usize,
    stride: usize,
}

/// Everything that is watched.
pub struct Survivors {
    objects: Mutex<Objects>,
    looks: Mutex<Looks>,
    collections: AtomicU32,
    /// How often it was begun to watch.
    begun: AtomicU32,
}

/// The only one.
pub static SURVIVORS: Survivors = Survivors {
    objects: Mutex::new(Objects {
        watching: None,
        all: Vec::new(),
        places: Places::objects(),
        left: Vec::new(),
    }),
    looks: Mutex::new(Looks { series: None, places: Places::growth(), after: 0, ended: None }),
    collections: AtomicU32::new(0),
    begun: AtomicU32::new(0),
};

/// A profile begins: the arena has forgotten what was watched before.
pub fn begin() {
    let (mut looks, mut objects) = (lock(&SURVIVORS.looks), lock(&SURVIVORS.objects));
    *looks = Looks { series: None, places: Places::growth(), after: looks.after, ended: None };
    (objects.places, objects.left) = (Places::objects(), Vec::new());
}

impl Survivors {
    /// Begins to watch. What was watched before in the same profile is forgotten.
    pub fn start(&self, arena: &ArenaWriter) {
        let (mut looks, mut objects) = (lock(&self.looks), lock(&self.objects));
        let Looks { series, places, .. } = &mut *looks;
        if let Some(series) = series.take() {
            series
                .sites
                .values()
                .map(|&(at, _)| at)
                .chain(series.at)
                .for_each(|at| places.give_back(arena, at));
        }
        let Objects { places, left, .. } = &mut *objects;
        left.drain(..).for_each(|at| places.give_back(arena, at));
        objects.watching = Some(self.begun.fetch_add(1, Ordering::AcqRel).wrapping_add(1));
        looks.after = self.collections.load(Ordering::Acquire);
        looks.ended = None;
    }

    /// Which watching it is now, to be asked before anything else is known of a sample.
    pub fn now(&self) -> u32 {
        self.begun.load(Ordering::Acquire)
    }

    /// Watches an object that was just made, of which this is the sample, if it is of this watching.
    pub fn watch(&self, arena: &ArenaWriter, env: &Env<'_>, object: Object<'_>, of: u32, made: &Sample) {
        let Ok(weak) = env.new_weak(object) else {
            lost::count(arena, Cause::NoRoomForObject);
            return;
        };
        let born = self.collections.load(Ordering::Acquire);
        // The VM is asked nothing while others wait for this.
        let left = lock(&self.objects).watch(arena, weak, born, of, made);
        if let Some(weak) = left {
            env.delete_weak(weak);
        }
    }

    /// A collection has ended. The VM can be asked nothing now.
    pub fn collected(&self) {
        self.collections.fetch_add(1, Ordering::AcqRel);
    }

    /// Looks which objects are left, if there was a collection since the last time; soon after the last time only if it must.
    pub fn look(&self, arena: &ArenaWriter, env: &Env<'_>, must: bool) {
        let collections = self.collections.load(Ordering::Acquire);
        let mut looks = lock(&self.looks);
        let rests = |(ended, took): (Instant, Duration)| ended.elapsed() < took * REST;
        if looks.after == collections || (!must && looks.ended.is_some_and(rests)) {
            return;
        }
        let began = Instant::now();
        self.forget_gone(arena, env);
        let bytes = self.sum(arena, collections);
        looks.point(arena, collections, bytes);
        looks.after = collections;
        looks.ended = Some((Instant::now(), began.elapsed()));
    }

    /// Watches no more. The arena keeps what is there.
    pub fn stop(&self, arena: &ArenaWriter, env: &Env<'_>) {
        self.look(arena, env, true);
        let _looking = lock(&self.looks);
        let mut objects = lock(&self.objects);
        objects.watching = None;
        let all = std::mem::take(&mut objects.all);
        objects.left.extend(all.iter().map(|object| object.at));
        drop(objects);
        all.into_iter().for_each(|object| env.delete_weak(object.weak));
    }

    /// Takes out the objects that are gone. Others are added behind meanwhile, and nobody else takes any out.
    fn forget_gone(&self, arena: &ArenaWriter, env: &Env<'_>) {
        let (mut gone, mut from) = (Vec::new(), 0);
        loop {
            // The references stay valid: they are deleted below, or by who holds the same lock.
            let batch: Vec<sys::jobject> = lock(&self.objects)
                .all
                .iter()
                .skip(from)
                .take(BATCH)
                .map(|object| object.weak.raw())
                .collect();
            if batch.is_empty() {
                break;
            }
            // SAFETY: see above.
            let here = (from..).zip(&batch).filter(|&(_, &weak)| unsafe { env.is_gone_raw(weak) });
            gone.extend(here.map(|(place, _)| place));
            from += batch.len();
        }
        for batch in gone.rchunks(BATCH) {
            let mut objects = lock(&self.objects);
            let taken: Vec<Watched> =
                batch.iter().rev().map(|&place| objects.all.swap_remove(place)).collect();
            taken.iter().for_each(|object| objects.places.give_back(arena, object.at));
            drop(objects);
            taken.into_iter().for_each(|object| env.delete_weak(object.weak));
        }
    }

    /// Writes down who has survived so many collections, and adds up what they take.
    fn sum(&self, arena: &ArenaWriter, collections: u32) -> HashMap<Site, u64> {
        let (mut bytes, mut from) = (HashMap::new(), 0);
        loop {
            let objects = lock(&self.objects);
            let batch = objects.all.iter().skip(from).take(BATCH);
            let before = from;
            for object in batch {
                from += 1;
                if object.born != collections {
                    arena.object_seen(object.at, collections);
                    *bytes.entry(object.site).or_insert(0_u64) += object.bytes;
                }
            }
            if from == before {
                return bytes;
            }
        }
    }
}

impl Objects {
    /// One more; returns the reference of one that is not watched.
    fn watch(
        &mut self,
        arena: &ArenaWriter,
        weak: Weak<kind::Object>,
        born: u32,
        of: u32,
        made: &Sample,
    ) -> Option<Weak<kind::Object>> {
        if self.watching != Some(of) {
            return Some(weak);
        }
        let Some(at) = self.places.take(arena) else {
            lost::count(arena, Cause::NoRoomForObject);
            return Some(weak);
        };
        arena.write_object(at, made, born);
        let site = [made.context, made.thread, made.detail];
        self.all.push(Watched { weak, at, site, bytes: made.value, born });
        None
    }
}

impl Looks {
    /// Adds a point to all series: what was found after so many collections.
    fn point(&mut self, arena: &ArenaWriter, collections: u32, mut found: HashMap<Site, u64>) {
        let series = self.series.get_or_insert_with(|| Series { stride: 1, ..Series::default() });
        let here = series.next();
        let places = &mut self.places;
        series.sites.retain(|site, (at, points)| {
            let bytes = found.remove(site).unwrap_or(0);
            points.get_mut(here).into_iter().for_each(|point| *point = bytes);
            match bytes {
                0 => places.give_back(arena, *at),
                _ => arena.write_growth(*at, *site, points.get(..=here).unwrap_or_default()),
            }
            bytes > 0
        });
        for (site, bytes) in found {
            let Some(at) = places.take(arena) else {
                lost::count(arena, Cause::NoRoomForObject);
                continue;
            };
            let mut points = [0; growth::MOST];
            points.get_mut(here).into_iter().for_each(|point| *point = bytes);
            arena.write_growth(at, site, points.get(..=here).unwrap_or_default());
            series.sites.insert(site, (at, points));
        }
        series.collections.get_mut(here).into_iter().for_each(|point| *point = collections.into());
        if series.at.is_none() {
            series.at = places.take(arena);
        }
        if let Some(at) = series.at {
            arena.write_growth(at, [0; 3], series.collections.get(..=here).unwrap_or_default());
        }
    }
}

impl Series {
    /// Where the point of another look goes.
    fn next(&mut self) -> usize {
        if self.looks / self.stride == growth::MOST {
            let all = self.sites.values_mut().map(|(_, points)| points);
            all.chain([&mut self.collections]).for_each(halve);
            self.stride *= 2;
        }
        let here = self.looks / self.stride;
        self.looks += 1;
        here
    }
}

/// Keeps every other point, and the last.
fn halve(points: &mut [u64; growth::MOST]) {
    let kept: Vec<u64> = points.iter().copied().skip(1).step_by(2).collect();
    *points = [0; growth::MOST];
    points.iter_mut().zip(kept).for_each(|(point, kept)| *point = kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread may be on its way with a sample while watching ends, and begins again: that is in neither.
    #[test]
    fn a_sample_of_an_earlier_watching_is_not_watched() {
        let path = std::env::temp_dir().join(format!("quipu-test-{}-watched", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let arena = ArenaWriter::create(&path, 1 << 20).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut objects =
            Objects { watching: Some(3), all: Vec::new(), places: Places::objects(), left: Vec::new() };
        let made = Sample {
            time: 1,
            value: 16,
            count: 1,
            context: 1,
            thread: 1,
            labels: 0,
            metric: 1,
            detail: 0,
            state: 0,
        };
        let watch = |objects: &mut Objects, of| {
            let address = std::ptr::dangling_mut();
            // SAFETY: it is never given to a VM.
            let weak = unsafe { Weak::from_raw(address) }.unwrap();
            objects.watch(&arena, weak, 0, of, &made).is_none()
        };
        assert!(watch(&mut objects, 3));
        objects.watching = None;
        assert!(!watch(&mut objects, 3), "it has ended");
        objects.watching = Some(4);
        assert!(!watch(&mut objects, 3), "it is the next one");
        assert!(watch(&mut objects, 4));
        assert_eq!(objects.all.len(), 2);
    }

    #[test]
    fn series_span_all_looks_whatever_their_number() {
        let mut series = Series { stride: 1, ..Series::default() };
        for look in 1..=1000_u64 {
            let here = series.next();
            series.collections[here] = look;
            assert!(here < growth::MOST);
            let filled = &series.collections[..=here];
            assert!(filled.is_sorted_by(|a, b| a < b), "{filled:?}");
            assert_eq!(filled.last(), Some(&look));
            if look >= 16 {
                assert!(filled.len() > growth::MOST / 2, "{filled:?}");
            }
        }
    }
}
