//! How many objects of each class there are, and how large they are together.

use std::collections::BTreeMap;

use crate::classes::{Classes, Shape, dotted};
use crate::layout::LAYOUTS;
use crate::record::Kind;
use crate::scan::Found;

/// A row of a histogram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistogramRow {
    /// The class.
    pub class: String,
    /// Objects.
    pub objects: u64,
    /// Bytes that they take themselves.
    pub bytes: u64,
}

/// Objects and bytes by class, most bytes first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    /// A row for each name of a class: classes of the same name that different loaders have are one row.
    pub rows: Vec<HistogramRow>,
}

impl Histogram {
    /// From rows in any order, several of which may be of classes with the same name.
    pub fn new(rows: impl IntoIterator<Item = HistogramRow>) -> Histogram {
        let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for row in rows {
            let sum = sums.entry(row.class).or_default();
            sum.0 = sum.0.saturating_add(row.objects);
            sum.1 = sum.1.saturating_add(row.bytes);
        }
        let mut rows: Vec<HistogramRow> = sums
            .into_iter()
            .filter(|(_, (objects, _))| *objects > 0)
            .map(|(class, (objects, bytes))| HistogramRow { class, objects, bytes })
            .collect();
        rows.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.class.cmp(&b.class)));
        Histogram { rows }
    }

    /// What `jcmd PID GC.class_histogram` prints.
    pub fn of_jcmd(text: &str) -> Option<Histogram> {
        let row = |line: &str| {
            let mut words = line.split_whitespace();
            words.next()?.strip_suffix(':')?.parse::<u64>().ok()?;
            let (objects, bytes) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            let class = words.next()?;
            let class = if class.starts_with('[') { dotted(class) } else { class.to_owned() };
            Some(HistogramRow { class, objects, bytes })
        };
        let rows: Vec<HistogramRow> = text.lines().filter_map(row).collect();
        (!rows.is_empty()).then(|| Histogram::new(rows))
    }

    /// All objects.
    pub fn objects(&self) -> u64 {
        self.rows.iter().fold(0, |sum, row| sum.saturating_add(row.objects))
    }

    /// All bytes.
    pub fn bytes(&self) -> u64 {
        self.rows.iter().fold(0, |sum, row| sum.saturating_add(row.bytes))
    }

    pub(crate) fn counted(classes: &Classes, found: &Found, layout: usize) -> Histogram {
        let name = |number: u32| classes.get(number).name.clone();
        let instances = found.instances.iter().map(|(&id, tally)| {
            let number = classes.by_id(id).unwrap_or(classes.unknown);
            let Shape::Instance { size } = classes.get(number).shape else {
                return HistogramRow { class: name(number), objects: tally.objects, bytes: 0 };
            };
            let bytes = size.saturating_mul(tally.objects);
            HistogramRow { class: name(number), objects: tally.objects, bytes }
        });
        let arrays = found.arrays.iter().map(|(&id, tally)| {
            let number = classes.by_id(id).unwrap_or(classes.unknown);
            HistogramRow { class: name(number), objects: tally.objects, bytes: tally.bytes[layout] }
        });
        let primitives =
            Kind::PRIMITIVE.into_iter().zip(&found.primitives).map(|(kind, tally)| HistogramRow {
                class: kind.array_name().to_owned(),
                objects: tally.objects,
                bytes: tally.bytes[layout],
            });
        let class_objects = (0..classes.with_object as u32).map(|number| HistogramRow {
            class: "java.lang.Class".to_owned(),
            objects: 1,
            bytes: class_object_size(classes, number, layout),
        });
        Histogram::new(instances.chain(arrays).chain(primitives).chain(class_objects))
    }
}

/// The size of a class object: that of an instance of `java.lang.Class`, with the static fields behind it.
pub(crate) fn class_object_size(classes: &Classes, number: u32, layout: usize) -> u64 {
    let Shape::Instance { size } = classes.get(classes.class).shape else { return 0 };
    let reference = LAYOUTS[layout].reference as usize;
    let statics: u64 =
        classes.get(number).statics.iter().map(|field| field.kind.bytes(reference) as u64).sum();
    (size + statics).next_multiple_of(LAYOUTS[layout].alignment)
}

/// What changed of a class from one histogram to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The class.
    pub class: String,
    /// Objects before and after.
    pub objects: (u64, u64),
    /// Bytes before and after.
    pub bytes: (u64, u64),
}

impl Change {
    /// Bytes that came; less than 0 if they went.
    pub fn grown(&self) -> i128 {
        i128::from(self.bytes.1) - i128::from(self.bytes.0)
    }
}

/// What changed from one histogram to another: the largest growth first, what is the same left out.
pub fn changes(before: &Histogram, after: &Histogram) -> Vec<Change> {
    let mut all: BTreeMap<&str, Change> = BTreeMap::new();
    for (rows, is_after) in [(&before.rows, false), (&after.rows, true)] {
        for row in rows {
            let change = all.entry(&row.class).or_insert_with(|| Change {
                class: row.class.clone(),
                objects: (0, 0),
                bytes: (0, 0),
            });
            if is_after {
                (change.objects.1, change.bytes.1) = (row.objects, row.bytes);
            } else {
                (change.objects.0, change.bytes.0) = (row.objects, row.bytes);
            }
        }
    }
    let mut changes: Vec<Change> = all.into_values().collect();
    changes.retain(|change| change.objects.0 != change.objects.1 || change.bytes.0 != change.bytes.1);
    changes.sort_by(|a, b| b.grown().cmp(&a.grown()).then_with(|| a.class.cmp(&b.class)));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_jcmd_prints_is_read() {
        let text = "435:\n num     #instances         #bytes  class name (module)\n---\n   1:  10  240  [B (java.base@17)\n   2:  3  48  a.B\nTotal  13  288\n";
        let histogram = Histogram::of_jcmd(text).unwrap();
        assert_eq!((histogram.objects(), histogram.bytes()), (13, 288));
        assert_eq!(histogram.rows[0].class, "byte[]");
        assert_eq!(Histogram::of_jcmd("nothing of the kind\n1: x"), None);
    }

    #[test]
    fn changes_are_sorted_by_growth() {
        let of = |rows: &[(&str, u64, u64)]| {
            Histogram::new(rows.iter().map(|&(class, objects, bytes)| HistogramRow {
                class: class.into(),
                objects,
                bytes,
            }))
        };
        let changes = changes(
            &of(&[("a", 1, 10), ("b", 5, 50), ("c", 1, 1)]),
            &of(&[("a", 3, 30), ("d", 9, 99), ("c", 1, 1)]),
        );
        let seen: Vec<(&str, i128)> = changes.iter().map(|c| (c.class.as_str(), c.grown())).collect();
        assert_eq!(seen, [("d", 99), ("a", 20), ("b", -50)]);
    }
}
