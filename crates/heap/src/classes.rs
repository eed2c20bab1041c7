//! The classes of a dump: names, fields, sizes.

use std::collections::HashMap;

use quipu_text::glob;

use crate::ids::Ids;
use crate::layout::Layout;
use crate::record::{ClassDump, Kind};
use crate::scan::Found;
use crate::skeleton::Skeleton;
use crate::source::{IdSize, Source};

/// What the instances of a class are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Objects with fields, of so many bytes each.
    Instance {
        /// Bytes of one.
        size: u64,
    },
    /// Arrays of this.
    Array(Kind),
}

/// A class.
#[derive(Debug, Clone)]
pub struct Class {
    /// The id of the class object; 0 if the dump has none.
    pub id: u64,
    /// `java.util.Map$Entry`, `int[]`.
    pub name: String,
    /// The number of the superclass.
    pub superclass: Option<u32>,
    /// The id of the class loader; 0 for the boot loader.
    pub loader: u64,
    /// What its instances are.
    pub shape: Shape,
    /// The fields that it declares.
    pub fields: Vec<Field>,
    /// Its static fields.
    pub statics: Vec<Static>,
    /// Where in the contents of an instance references are; those to what a weak or soft reference refers to are not here.
    pub(crate) references: Vec<u32>,
    /// Where in the contents of a weak, soft or phantom reference its referent is.
    pub(crate) referent: Option<u32>,
    pub(crate) others: Vec<u64>,
}

/// A field of instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Kind,
}

/// A static field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Static {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Kind,
    /// Its value: an id, or the bits of a primitive value.
    pub value: u64,
}

/// All classes. A class's number is its place.
#[derive(Debug)]
pub struct Classes {
    list: Vec<Class>,
    by_id: HashMap<u64, u32, Ids>,
    primitive: [u32; Kind::PRIMITIVE.len()],
    /// How many of them have a class object.
    pub(crate) with_object: usize,
    /// `java.lang.Class`, and the class of objects whose own class the dump does not have.
    pub(crate) class: u32,
    pub(crate) unknown: u32,
}

/// A superclass chain is not longer than this; one that leads in a circle is cut here.
const DEEPEST: usize = 1 << 12;

impl Classes {
    pub(crate) fn new(
        skeleton: &Skeleton,
        source: &dyn Source,
        dumped: Vec<ClassDump>,
        layout: Layout,
        found: &Found,
    ) -> Classes {
        let mut names: HashMap<u64, String, Ids> = HashMap::default();
        let mut name = |id: u64| names.entry(id).or_insert_with(|| skeleton.name(source, id)).clone();
        let (mut list, mut by_id) = (Vec::new(), HashMap::default());
        let mut supers = Vec::new();
        for dump in dumped {
            // A class that is in the dump twice is the first one.
            let number = list.len() as u32;
            if *by_id.entry(dump.id).or_insert(number) != number {
                continue;
            }
            let class_name = match skeleton.loaded.get(&dump.id) {
                Some(&id) => dotted(&skeleton.name(source, id)),
                None => format!("class@{:x}", dump.id),
            };
            let kind = element(&class_name);
            list.push(Class {
                id: dump.id,
                name: class_name,
                superclass: None,
                loader: dump.loader,
                shape: kind.map_or(Shape::Instance { size: 0 }, Shape::Array),
                fields: dump.fields.iter().map(|&(id, kind)| Field { name: name(id), kind }).collect(),
                statics: dump
                    .statics
                    .iter()
                    .map(|&(id, kind, value)| Static { name: name(id), kind, value })
                    .collect(),
                references: Vec::new(),
                referent: None,
                others: dump.others,
            });
            supers.push(dump.superclass);
        }
        for (class, id) in list.iter_mut().zip(supers) {
            class.superclass = by_id.get(&id).copied();
        }
        let with_object = list.len();
        let mut classes = Classes { list, by_id, primitive: [0; 8], with_object, class: 0, unknown: 0 };
        classes.primitive = Kind::PRIMITIVE.map(|kind| classes.named(kind.array_name(), Shape::Array(kind)));
        classes.class = classes.named("java.lang.Class", Shape::Instance { size: 0 });
        // Arrays of classes that are not in the dump are arrays of objects at least.
        for &id in found.arrays.keys() {
            classes.missing(id, &name_of_missing(skeleton, source, id, "[]"), Shape::Array(Kind::Object));
        }
        for &id in found.instances.keys() {
            classes.missing(id, &name_of_missing(skeleton, source, id, ""), Shape::Instance { size: 0 });
        }
        classes.unknown = classes.named("(unknown class)", Shape::Instance { size: layout.header });
        classes.lay_out(skeleton.ids, layout, found);
        classes
    }

    fn named(&mut self, name: &str, shape: Shape) -> u32 {
        let known = self.list.iter().position(|class| class.name == name && class.loader == 0);
        known.map_or_else(|| self.push(0, name, shape), |number| number as u32)
    }

    fn missing(&mut self, id: u64, name: &str, shape: Shape) {
        if !self.by_id.contains_key(&id) {
            let number = self.push(id, name, shape);
            self.by_id.insert(id, number);
        }
    }

    fn push(&mut self, id: u64, name: &str, shape: Shape) -> u32 {
        self.list.push(Class {
            id,
            name: name.to_owned(),
            superclass: None,
            loader: 0,
            shape,
            fields: Vec::new(),
            statics: Vec::new(),
            references: Vec::new(),
            referent: None,
            others: Vec::new(),
        });
        self.list.len() as u32 - 1
    }

    /// Where references are, and how large instances are.
    fn lay_out(&mut self, ids: IdSize, layout: Layout, found: &Found) {
        for number in 0..self.list.len() {
            let weak = self.is_weak(number as u32);
            let (mut references, mut referent, mut at) = (Vec::new(), None, 0_u32);
            let mut kinds = Vec::new();
            for (_, field) in self.fields(number as u32) {
                kinds.push(field.kind);
                if field.kind == Kind::Object {
                    if weak && field.name == "referent" {
                        referent = Some(at);
                    } else {
                        references.push(at);
                    }
                }
                at = at.saturating_add(field.kind.bytes(ids.bytes()) as u32);
            }
            let class = &mut self.list[number];
            (class.references, class.referent) = (references, referent);
            if let Shape::Instance { size } = &mut class.shape {
                let least = layout.instance(kinds.into_iter());
                let distance = found.instances.get(&class.id).map_or(0, |tally| tally.distance);
                *size = layout.corrected(least, distance);
            }
        }
    }

    /// Whether references of this class do not keep their referent alive.
    fn is_weak(&self, number: u32) -> bool {
        self.line(number).any(|class| {
            matches!(
                self.list[class as usize].name.as_str(),
                "java.lang.ref.WeakReference"
                    | "java.lang.ref.SoftReference"
                    | "java.lang.ref.PhantomReference"
            )
        })
    }

    /// A class and those above it.
    pub fn line(&self, number: u32) -> impl Iterator<Item = u32> + '_ {
        let above = |&number: &u32| self.list[number as usize].superclass;
        std::iter::successors(Some(number), above).take(DEEPEST)
    }

    /// The fields of instances, in the order in which the dump has their values, each with the class that declares it.
    pub fn fields(&self, number: u32) -> impl Iterator<Item = (u32, &Field)> + '_ {
        self.line(number)
            .flat_map(|class| self.list[class as usize].fields.iter().map(move |field| (class, field)))
    }

    /// The class with a number.
    pub fn get(&self, number: u32) -> &Class {
        self.list.get(number as usize).unwrap_or(&self.list[self.unknown as usize])
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Class> {
        self.list.iter()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// The number of the class with this class object.
    #[inline]
    pub fn by_id(&self, id: u64) -> Option<u32> {
        self.by_id.get(&id).copied()
    }

    /// The class of arrays of primitive values.
    pub(crate) fn of_primitives(&self, kind: Kind) -> u32 {
        self.primitive.get((kind as usize).wrapping_sub(1)).copied().unwrap_or(self.unknown)
    }

    /// Whether a class is another, or below it.
    pub fn is_a(&self, number: u32, above: &str) -> bool {
        self.line(number).any(|class| self.list[class as usize].name == above)
    }

    /// Those that a name or a pattern with stars means.
    pub fn matching(&self, pattern: &str) -> Vec<u32> {
        (0..self.list.len() as u32)
            .filter(|&number| glob(pattern, &*self.list[number as usize].name))
            .collect()
    }
}

fn name_of_missing(skeleton: &Skeleton, source: &dyn Source, id: u64, array: &str) -> String {
    match skeleton.loaded.get(&id) {
        Some(&name) => dotted(&skeleton.name(source, name)),
        None => format!("class@{id:x}{array}"),
    }
}

/// `[Ljava/lang/Object;` becomes `java.lang.Object[]`.
pub(crate) fn dotted(name: &str) -> String {
    let element = name.trim_start_matches('[');
    let dimensions = name.len() - element.len();
    if dimensions == 0 {
        // Hidden classes have an address behind their name, with a slash that dumps cannot have.
        return name.replace('/', ".").replace("+0x", "/0x");
    }
    let element = match element {
        "Z" => "boolean".to_owned(),
        "C" => "char".to_owned(),
        "F" => "float".to_owned(),
        "D" => "double".to_owned(),
        "B" => "byte".to_owned(),
        "S" => "short".to_owned(),
        "I" => "int".to_owned(),
        "J" => "long".to_owned(),
        _ => element.strip_prefix('L').unwrap_or(element).trim_end_matches(';').replace('/', "."),
    };
    element + &"[]".repeat(dimensions.min(255))
}

/// What arrays with this name have in them.
fn element(name: &str) -> Option<Kind> {
    name.ends_with("[]")
        .then(|| Kind::PRIMITIVE.into_iter().find(|kind| kind.array_name() == name).unwrap_or(Kind::Object))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_people_write_them() {
        assert_eq!(dotted("java/util/Map$Entry"), "java.util.Map$Entry");
        assert_eq!(dotted("[[Ljava/lang/Object;"), "java.lang.Object[][]");
        assert_eq!(dotted("[J"), "long[]");
        assert_eq!(dotted("a/B$$Lambda+0x12"), "a.B$$Lambda/0x12");
        assert_eq!((element("byte[]"), element("byte[][]")), (Some(Kind::Byte), Some(Kind::Object)));
        assert_eq!(element("a.B"), None);
    }
}
