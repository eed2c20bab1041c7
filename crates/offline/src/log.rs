//! What a jar tells the runtime about its methods: a header, the size of each method's nodes, and the records that go
//! into the arena's log. Ids of methods and classes count from 0; the runtime adds what it has given out before.
//!
//! ```text
//! "QLOG"  version of the arena  sites?  ids  class records  classes  methods  classes left  methods left  0
//! size, slots                    for each id, 0 if it is not used
//! records                        as in `quipu_arena::record`
//! ```

use std::collections::BTreeMap;

use quipu_arena::layout;
use quipu_arena::record::{Record, RewrittenMethod, flag};
use quipu_classfile::ClassFile;
use quipu_rewrite::{Shape, agreed};

// Inserted code counts in the arena.
const _: () = {
    assert!(agreed::TALLY_CELL as u64 == layout::tally::CELL);
    assert!(agreed::MOST_SLOTS == layout::MAX_SLOTS);
    assert!(agreed::method_word(0x1234_5678) == layout::method_word(0x1234_5678));
};

const MAGIC: u32 = u32::from_le_bytes(*b"QLOG");

/// A log that is being put together.
#[derive(Debug, Default)]
pub struct MethodLog {
    sizes: Vec<(u32, u32)>,
    records: Vec<u8>,
    next_class: u32,
    /// Classes rewritten.
    pub classes: u32,
    /// Methods rewritten.
    pub methods: u32,
    /// Classes left as they are though they were to be rewritten.
    pub classes_left: u32,
    /// Methods left so.
    pub methods_left: u32,
}

impl MethodLog {
    /// A log for ids below this.
    pub fn new(ids: u32) -> MethodLog {
        MethodLog { sizes: vec![(0, 0); ids as usize], ..MethodLog::default() }
    }

    /// Enters a rewritten class.
    pub fn class(&mut self, class: &ClassFile<'_>, shapes: &[Shape]) {
        let id = self.enter_class(class.name(), class.source_file().unwrap_or_default(), 1);
        for shape in shapes {
            let Some(method) = class.method(shape.index) else { continue };
            self.size(shape.id, layout::node_size(shape.slots, shape.blocks.len() as u32 / 3), shape.slots);
            RewrittenMethod {
                id: shape.id,
                class: id,
                flags: if shape.sampled { flag::SAMPLED } else { 0 },
                per_call: shape.per_call,
                name: method.name(),
                descriptor: method.descriptor(),
                lines: &shape.lines,
                sites: &shape.sites,
                blocks: &shape.blocks,
                derived: &shape.derived,
                leaves: &shape.leaves,
                columns: &[],
            }
            .encode(&mut self.records);
        }
        self.classes += 1;
        self.methods += shapes.len() as u32;
    }

    /// Enters opaque methods: id, class, name and descriptor of each.
    pub fn opaque<'k>(&mut self, methods: impl Iterator<Item = (u32, [&'k [u8]; 3])>) {
        let mut classes = BTreeMap::new();
        for (id, [class, name, descriptor]) in methods {
            let class = match classes.get(class) {
                Some(&known) => known,
                None => {
                    let new = self.enter_class(class, b"", 0);
                    classes.insert(class, new);
                    new
                }
            };
            self.size(id, layout::node_size(0, 0), 0);
            Record::opaque_method(id, class, name, descriptor).encode(&mut self.records);
        }
    }

    /// Notes what was left as it is.
    pub fn left(&mut self, what: &[u8], why: &str) {
        Record::Left { what, why: why.as_bytes() }.encode(&mut self.records);
    }

    /// The whole log.
    pub fn into_bytes(self, sites: bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(40 + 8 * self.sizes.len() + self.records.len());
        let header = [
            MAGIC,
            layout::VERSION,
            sites.into(),
            self.sizes.len() as u32,
            self.next_class,
            self.classes,
            self.methods,
            self.classes_left,
            self.methods_left,
            0,
        ];
        let sizes = self.sizes.iter().flat_map(|&(size, slots)| [size, slots]);
        out.extend(header.into_iter().chain(sizes).flat_map(u32::to_le_bytes));
        out.extend_from_slice(&self.records);
        out
    }

    fn enter_class(&mut self, name: &[u8], source: &[u8], loader: u32) -> u32 {
        let id = self.next_class;
        self.next_class += 1;
        Record::Class { id, loader, name, source }.encode(&mut self.records);
        id
    }

    fn size(&mut self, id: u32, size: u64, slots: u32) {
        if let Some(entry) = self.sizes.get_mut(id as usize) {
            *entry = (size as u32, slots);
        }
    }
}
