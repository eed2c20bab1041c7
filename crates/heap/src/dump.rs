//! A dump that has been read once: its classes, its roots, and where its objects are.

use crate::addresses::{Addresses, Pages};
use crate::classes::Classes;
use crate::error::{Damage, HeapError};
use crate::histogram::Histogram;
use crate::layout::{LAYOUTS, Layout};
use crate::record::Root;
use crate::scan::{Detail, Found, Span};
use crate::skeleton::Skeleton;
use crate::source::{IdSize, Source};
use crate::watch::Watch;

/// A heap dump.
pub struct Dump<'s> {
    pub(crate) source: &'s dyn Source,
    pub(crate) skeleton: Skeleton,
    pub(crate) classes: Classes,
    pub(crate) layout: usize,
    pub(crate) spans: Vec<Span>,
    pub(crate) roots: Vec<Root>,
    pub(crate) addresses: Addresses,
    pub(crate) objects: u64,
    histogram: Histogram,
    damage: Vec<Damage>,
}

/// A histogram, and what is wrong with the dump that it is of.
#[derive(Debug)]
pub struct Counted {
    /// What was counted.
    pub histogram: Histogram,
    /// What could not be read.
    pub damage: Vec<Damage>,
}

impl<'s> Dump<'s> {
    /// Counts objects, for which a dump needs to be looked at less closely.
    pub fn count(source: &'s dyn Source, watch: &dyn Watch) -> Result<Counted, HeapError> {
        let skeleton = Skeleton::read(source)?;
        let mut found = Found::scan(source, skeleton.ids, &skeleton.segments, Detail::Counts, watch)?;
        let (classes, layout) = known_classes(&skeleton, source, &mut found);
        let histogram = Histogram::counted(&classes, &found, layout);
        let damage = [skeleton.damage, found.damage].concat();
        if histogram.rows.is_empty() {
            return Err(HeapError::Empty(damage));
        }
        Ok(Counted { histogram, damage })
    }

    /// Reads a dump.
    pub fn open(source: &'s dyn Source, watch: &dyn Watch) -> Result<Dump<'s>, HeapError> {
        let skeleton = Skeleton::read(source)?;
        let scan =
            |shift| Found::scan(source, skeleton.ids, &skeleton.segments, Detail::Places { shift }, watch);
        let mut found = scan(3)?;
        if found.unaligned {
            // Ids of another VM than HotSpot.
            found = scan(0)?;
        }
        let (classes, layout) = known_classes(&skeleton, source, &mut found);
        let histogram = Histogram::counted(&classes, &found, layout);
        let mut damage = [skeleton.damage.clone(), std::mem::take(&mut found.damage)].concat();
        if found.objects == 0 && classes.with_object == 0 {
            return Err(HeapError::Empty(damage));
        }
        let pages = std::mem::replace(&mut found.pages, Pages::new(3));
        let addresses = Addresses::new(pages.shift(), pages.pages);
        if addresses.duplicates > 0 {
            let what = format!(
                "{} objects have the id of another; the first of each is meant by it",
                addresses.duplicates
            );
            damage.push(Damage { offset: skeleton.segments.first().map_or(0, |&(begin, _)| begin), what });
        }
        Ok(Dump {
            source,
            classes,
            layout,
            spans: found.spans,
            roots: found.roots,
            addresses,
            objects: found.objects,
            histogram,
            damage,
            skeleton,
        })
    }

    /// Counts by class.
    pub fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// What is wrong with it; all that follows is of what could be read.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// Its classes.
    pub fn classes(&self) -> &Classes {
        &self.classes
    }

    /// How objects were laid out in the VM.
    pub fn layout(&self) -> Layout {
        LAYOUTS[self.layout]
    }

    /// How long ids are.
    pub fn id_size(&self) -> IdSize {
        self.skeleton.ids
    }

    /// When it was made, in milliseconds since 1970.
    pub fn time(&self) -> u64 {
        self.skeleton.time
    }

    /// Objects and class objects.
    pub fn objects(&self) -> u64 {
        self.objects + self.first()
    }

    /// The number of the first object that is no class object: class objects come first, in the order of classes.
    pub(crate) fn first(&self) -> u64 {
        self.classes.with_object as u64
    }

    /// The number of the object with this id, as [`Paths::to`](crate::Paths::to) wants it.
    pub fn number_of(&self, id: u64) -> Option<u64> {
        self.number(id)
    }

    #[inline]
    pub(crate) fn number(&self, id: u64) -> Option<u64> {
        if let Some(number) = self.addresses.number(id) {
            return Some(number + self.first());
        }
        let class = self.classes.by_id(id)?;
        ((class as usize) < self.classes.with_object).then_some(u64::from(class))
    }

    /// The span in which an object is.
    pub(crate) fn span_of(&self, number: u64) -> Option<&Span> {
        let place = number.checked_sub(self.first())?;
        let span = self.spans.partition_point(|span| span.first <= place).checked_sub(1)?;
        self.spans.get(span).filter(|span| place < span.first + span.objects)
    }
}

fn known_classes(skeleton: &Skeleton, source: &dyn Source, found: &mut Found) -> (Classes, usize) {
    let layout = Layout::of(skeleton.ids, &found.votes);
    let dumped = std::mem::take(&mut found.classes);
    (Classes::new(skeleton, source, dumped, LAYOUTS[layout], found), layout)
}
