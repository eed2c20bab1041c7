//! The shortest way from a root to an object: why it is alive. Weak, soft and phantom references are not followed.

use std::collections::{HashMap, HashSet};

use crate::analysis::Analysis;
use crate::dump::Dump;
use crate::error::HeapError;
use crate::graph::{Graph, References};
use crate::object::{Contents, Object, Objects, Value};
use crate::record::{Kind, Root, RootKind};
use crate::scratch::{Numbers, Scratch};
use crate::watch::Watch;

/// A way from a root to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// Why the first object is alive.
    pub root: String,
    /// The objects on the way, the one asked for last.
    pub steps: Vec<Step>,
}

/// An object on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its id.
    pub id: u64,
    /// Its class; for a class object the class that it is.
    pub class: String,
    /// Whether it is a class object.
    pub is_class: bool,
    /// The field, element or variable that refers to the next object; nothing for the last.
    pub by: Option<String>,
}

/// Ways to objects, found one after the other or many at once.
pub struct Paths<'d> {
    dump: &'d Dump<'d>,
    references: Held<'d>,
    scratch: &'d dyn Scratch,
}

enum Held<'d> {
    Own(Box<References<'d>>),
    Of(&'d References<'d>),
}

impl<'d> Paths<'d> {
    /// Without knowing the dominators.
    pub fn new(
        dump: &'d Dump<'d>,
        scratch: &'d dyn Scratch,
        watch: &dyn Watch,
    ) -> Result<Paths<'d>, HeapError> {
        let references = Held::Own(Box::new(References::read(dump, scratch, watch)?));
        Ok(Paths { dump, references, scratch })
    }

    /// With what an analysis knows already.
    pub fn of(analysis: &'d Analysis<'d>) -> Paths<'d> {
        Paths { dump: analysis.dump, references: Held::Of(&analysis.references), scratch: analysis.scratch }
    }

    fn references(&self) -> &References<'d> {
        match &self.references {
            Held::Own(references) => references,
            Held::Of(references) => references,
        }
    }

    /// The objects of classes, as many as `most`, in the order of the dump.
    pub fn instances(&self, classes: &[u32], most: usize) -> Vec<u64> {
        let classes: HashSet<u32> = classes.iter().copied().collect();
        let references = self.references();
        let of_class = |&number: &u64| classes.contains(&references.class(number));
        (0..self.dump.objects()).filter(of_class).take(most).collect()
    }

    /// A shortest way to each of these ids; nothing for what cannot be reached.
    pub fn to_ids(&self, ids: &[u64], watch: &dyn Watch) -> Result<Vec<Option<Path>>, HeapError> {
        let numbers: Vec<Option<u64>> = ids.iter().map(|&id| self.dump.number(id)).collect();
        let wanted: Vec<u64> = numbers.iter().copied().flatten().collect();
        let mut found = self.to(&wanted, watch)?;
        Ok(numbers.into_iter().map(|number| found.remove(&number?)).collect())
    }

    /// A shortest way to each of these objects that can be reached.
    pub fn to(&self, wanted: &[u64], watch: &dyn Watch) -> Result<HashMap<u64, Path>, HeapError> {
        let references = self.references();
        let nodes = references.nodes();
        watch.begin("looking for the shortest paths", nodes);
        let mut left: HashSet<u64> = wanted.iter().copied().collect();
        let all = left.clone();
        // One more than the node from which each was reached; roots have themselves, what was not reached has 0.
        let mut from = Numbers::new(self.scratch, nodes, nodes)?;
        let mut order = Numbers::new(self.scratch, nodes, nodes)?;
        let (mut from_view, mut queue) = (from.view_mut(), order.view_mut());
        let (mut head, mut tail) = (0, 0);
        for root in references.roots() {
            if from_view.get(root) == 0 {
                from_view.set(root, root + 1);
                queue.set(tail, root);
                tail += 1;
            }
        }
        while head < tail && !left.is_empty() {
            let node = queue.get(head);
            head += 1;
            left.remove(&node);
            references.targets(node, |target| {
                if from_view.get(target) == 0 {
                    from_view.set(target, node + 1);
                    queue.set(tail, target);
                    tail += 1;
                }
            });
            if head % 65_536 == 0 {
                watch.advance(65_536);
            }
        }
        let mut paths = HashMap::new();
        for &node in &all {
            if from_view.get(node) != 0 {
                let mut nodes = vec![node];
                let mut at = node;
                while from_view.get(at) != at + 1 {
                    at = from_view.get(at) - 1;
                    nodes.push(at);
                }
                nodes.reverse();
                paths.insert(node, self.described(&nodes)?);
            }
        }
        Ok(paths)
    }

    fn described(&self, nodes: &[u64]) -> Result<Path, HeapError> {
        let mut objects = Objects::new(self.dump);
        let first = nodes.first().copied().unwrap_or(0);
        let root = self.references().roots.iter().find(|(node, _)| *node == first).map(|(_, root)| *root);
        let mut steps = Vec::new();
        for (i, &node) in nodes.iter().enumerate() {
            let object = objects.read(node)?;
            let by = match nodes.get(i + 1) {
                Some(&next) => Some(self.reference(&mut objects, &object, next)?),
                None => None,
            };
            let (class, is_class) = match object.contents {
                Contents::Class(class) => (self.dump.classes.get(class).name.clone(), true),
                _ => (objects.class(&object).name.clone(), false),
            };
            steps.push(Step { id: object.id, class, is_class, by });
        }
        let root = match root {
            Some(Root { kind: RootKind::Thread, .. }) => {
                let thread = objects.read(first)?;
                let name = objects.thread_name(&thread);
                name.map_or("thread".to_owned(), |name| format!("thread {name}"))
            }
            Some(root) => root.kind.words().to_owned(),
            None => "root".to_owned(),
        };
        Ok(Path { root, steps })
    }

    /// How one object refers to another.
    fn reference(&self, objects: &mut Objects<'d>, object: &Object, next: u64) -> Result<String, HeapError> {
        let id = objects.read(next)?.id;
        let found = match object.contents {
            Contents::Class(class) => {
                let class = self.dump.classes.get(class);
                let fits = |value: u64, kind| kind == Kind::Object && value == id;
                match class.statics.iter().find(|field| fits(field.value, field.kind)) {
                    Some(field) => Some(field.name.clone()),
                    None if class.loader == id => Some("<class loader>".to_owned()),
                    None => Some("<class>".to_owned()),
                }
            }
            Contents::Instance(_) => objects
                .fields(object)
                .find(|(_, _, value)| *value == Value::Reference(id))
                .map(|(_, field, _)| field.name.clone()),
            Contents::Array { .. } => objects.index_of(object, id).map(|index| format!("[{index}]")),
        };
        if let Some(found) = found {
            return Ok(found);
        }
        let local = self
            .references()
            .held_by_threads
            .iter()
            .find(|(thread, held, _)| *thread == object.number && *held == next);
        Ok(match local {
            Some((_, _, root)) => match self.frame(root) {
                Some(frame) => format!("<{} in {frame}>", root.kind.words()),
                None => format!("<{}>", root.kind.words()),
            },
            None => "<class>".to_owned(),
        })
    }

    /// The frame that a local variable is in: `com.acme.Shop.serve:42`.
    fn frame(&self, root: &Root) -> Option<String> {
        let skeleton = &self.dump.skeleton;
        let thread =
            self.dump.roots.iter().find(|r| r.kind == RootKind::Thread && r.thread == root.thread)?;
        let stack = skeleton.stacks.get(&thread.frame)?;
        let frame = skeleton.frames.get(stack.get(root.frame as usize)?)?;
        let class = skeleton.serials.get(&frame.class_serial).and_then(|&id| self.dump.classes.by_id(id));
        let class = class.map_or("?", |class| self.dump.classes.get(class).name.as_str());
        let method = skeleton.name(self.dump.source, frame.method);
        Some(match frame.line {
            line if line > 0 => format!("{class}.{method}:{line}"),
            _ => format!("{class}.{method}"),
        })
    }
}

impl Path {
    /// The path without places in arrays and ids: what many paths have in common.
    pub fn shape(&self) -> String {
        let mut shape = self.root.clone();
        for step in &self.steps {
            let by = step.by.as_deref().map_or("", |by| if by.starts_with('[') { "[]" } else { by });
            shape.push_str(&format!("|{} {by}", step.class));
        }
        shape
    }
}

impl std::fmt::Display for Path {
    /// `static com.acme.Registry.SESSIONS → java.util.HashMap.table → java.util.HashMap$Node[] [17] → com.acme.Session`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, step) in self.steps.iter().enumerate() {
            if i > 0 {
                f.write_str(" → ")?;
            }
            match (&step.by, step.is_class) {
                (Some(by), true) if !by.starts_with('<') => write!(f, "static {}.{by}", step.class)?,
                (Some(by), true) => write!(f, "class {} {by}", step.class)?,
                (Some(by), false) if by.starts_with(['<', '[']) => write!(f, "{} {by}", step.class)?,
                (Some(by), false) => write!(f, "{}.{by}", step.class)?,
                (None, true) => write!(f, "class {}", step.class)?,
                (None, false) => f.write_str(&step.class)?,
            }
        }
        Ok(())
    }
}
