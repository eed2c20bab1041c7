//! Room in collections that nothing is in.

use std::collections::BTreeMap;

use crate::classes::Classes;
use crate::dump::Dump;
use crate::error::HeapError;
use crate::object::{Contents, Object, Objects, Value};
use crate::record::Record;
use crate::strings::each_span;
use crate::watch::Watch;

/// Collections of a class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectionRow {
    /// The class.
    pub class: String,
    /// How many there are.
    pub collections: u64,
    /// How many of them have nothing in them.
    pub empty: u64,
    /// How many have one element.
    pub single: u64,
    /// Elements in all of them.
    pub elements: u64,
    /// Elements for which there is room.
    pub capacity: u64,
    /// Bytes of room that nothing is in; of empty collections the whole array.
    pub wasted: u64,
}

/// How a class keeps its elements.
struct Keeping {
    class: &'static str,
    size: &'static str,
    array: &'static str,
    /// Elements of the array for each element of the collection.
    slots: u64,
}

const fn keeping(class: &'static str, size: &'static str, array: &'static str) -> Keeping {
    Keeping { class, size, array, slots: 1 }
}

/// Collections of the JDK that keep an array; those below them by inheritance are meant, too.
const KEEPINGS: [Keeping; 13] = [
    keeping("java.util.ArrayList", "size", "elementData"),
    keeping("java.util.Vector", "elementCount", "elementData"),
    keeping("java.util.HashMap", "size", "table"),
    keeping("java.util.Hashtable", "count", "table"),
    keeping("java.util.WeakHashMap", "size", "table"),
    Keeping { class: "java.util.IdentityHashMap", size: "size", array: "table", slots: 2 },
    keeping("java.util.concurrent.ConcurrentHashMap", "baseCount", "table"),
    keeping("java.util.ArrayDeque", "", "elements"),
    keeping("java.util.PriorityQueue", "size", "queue"),
    keeping("java.util.concurrent.PriorityBlockingQueue", "size", "queue"),
    keeping("java.util.concurrent.ArrayBlockingQueue", "count", "items"),
    keeping("java.lang.StringBuilder", "count", "value"),
    keeping("java.lang.StringBuffer", "count", "value"),
];

/// The collections of a dump by class, most waste first.
pub fn collections(dump: &Dump<'_>, watch: &dyn Watch) -> Result<Vec<CollectionRow>, HeapError> {
    let keepings: Vec<Option<usize>> =
        (0..dump.classes.count() as u32).map(|class| keeping_of(&dump.classes, class)).collect();
    watch.begin("looking at collections", dump.spans.iter().map(|span| span.end - span.begin).sum());
    let mut rows: BTreeMap<u32, CollectionRow> = BTreeMap::new();
    for batch in dump.spans.chunks(128) {
        let found = each_span(dump, batch, watch, |found: &mut Found<'_>, record, number, cursor| {
            let &Record::Instance { id, class, bytes } = record else { return Ok(false) };
            let Some(class) = dump.classes.by_id(class) else { return Ok(false) };
            let Some(keeping) = keepings[class as usize] else { return Ok(false) };
            let contents = Contents::Instance(cursor.take(bytes as usize)?.to_vec());
            let object = Object { number, id, class, size: 0, contents };
            found.add(dump, &object, &KEEPINGS[keeping]);
            Ok(true)
        })?;
        for (class, row) in found.into_iter().flat_map(|found| found.rows) {
            let sum = rows.entry(class).or_default();
            sum.collections += row.collections;
            sum.empty += row.empty;
            sum.single += row.single;
            sum.elements += row.elements;
            sum.capacity += row.capacity;
            sum.wasted += row.wasted;
        }
    }
    let mut rows: Vec<CollectionRow> = rows
        .into_iter()
        .map(|(class, row)| CollectionRow { class: dump.classes.get(class).name.clone(), ..row })
        .collect();
    rows.sort_by(|a, b| b.wasted.cmp(&a.wasted).then_with(|| a.class.cmp(&b.class)));
    Ok(rows)
}

fn keeping_of(classes: &Classes, class: u32) -> Option<usize> {
    KEEPINGS.iter().position(|keeping| classes.is_a(class, keeping.class))
}

#[derive(Default)]
struct Found<'d> {
    rows: BTreeMap<u32, CollectionRow>,
    objects: Option<Objects<'d>>,
}

impl<'d> Found<'d> {
    fn add(&mut self, dump: &'d Dump<'d>, object: &Object, keeping: &Keeping) {
        let objects = self.objects.get_or_insert_with(|| Objects::new(dump));
        let row = self.rows.entry(object.class).or_default();
        row.collections += 1;
        let array = objects.follow(object, keeping.array);
        let (kind, room) = match array.as_ref().map(|array| &array.contents) {
            Some(&Contents::Array { kind, length, .. }) => (Some(kind), length / keeping.slots),
            _ => (None, 0),
        };
        let elements = match objects.field(object, keeping.size) {
            Some(Value::Integer(size)) => u64::try_from(size).unwrap_or(0),
            _ => between(objects, object, room),
        };
        row.empty += u64::from(elements == 0);
        row.single += u64::from(elements == 1);
        row.elements += elements;
        row.capacity += room;
        let (Some(kind), Some(array)) = (kind, array) else { return };
        row.wasted += match elements {
            // Shared by all lists that have had nothing in them yet.
            0 if room == 0 => 0,
            0 => array.size,
            elements => {
                let used = dump.layout().array(kind, elements.min(room) * keeping.slots);
                array.size.saturating_sub(used)
            }
        };
    }
}

/// Elements of a ring, between its head and its tail.
fn between(objects: &Objects<'_>, object: &Object, room: u64) -> u64 {
    match (objects.field(object, "head"), objects.field(object, "tail")) {
        (Some(Value::Integer(head)), Some(Value::Integer(tail))) if room > 0 => {
            (tail - head).rem_euclid(room as i64) as u64
        }
        _ => 0,
    }
}
