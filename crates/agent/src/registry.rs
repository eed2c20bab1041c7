//! Ids of classes and methods, and what the Java runtime must know of each method.

use std::collections::HashMap;
use std::sync::Mutex;

use quipu_arena::layout;
use quipu_arena::record::{Record, RewrittenMethod, flag};
use quipu_arena::writer::ArenaWriter;
use quipu_classfile::ClassFile;
use quipu_rewrite::{Clock, Shape, agreed};

use crate::locks::lock;

// Inserted code counts in the arena.
const _: () = {
    assert!(agreed::TALLY_CELL as u64 == layout::tally::CELL);
    assert!(agreed::MOST_SLOTS == layout::MAX_SLOTS);
    assert!(agreed::method_word(0x1234_5678) == layout::method_word(0x1234_5678));
};

/// Hands out ids.
pub struct Registry {
    state: Mutex<State>,
    /// Two words for each method id: size of its nodes, number of their slots. Reserved for all ids, touched as used.
    sizes: *mut u32,
}

/// Whether a rewritten class may be used.
pub enum Entered {
    /// It may.
    Yes,
    /// There are nodes with these ids that have another size; the class had these before, when its methods looked as they do
    /// now.
    OtherShapes(Option<u32>),
    /// Its names do not fit into the arena.
    Full,
}

#[derive(Default)]
struct State {
    next_method: u32,
    next_class: u32,
    /// Method ids of each class that was rewritten, by loader and name; the last are those it had last. There are several
    /// if profiles with other options need nodes of other sizes.
    ranges: HashMap<(u32, Box<[u8]>), Vec<Range>>,
    /// By class, name and descriptor.
    opaque: HashMap<[Box<[u8]>; 3], u32>,
    opaque_classes: HashMap<Box<[u8]>, u32>,
}

#[derive(Clone, Copy)]
struct Range {
    first: u32,
    count: u32,
    /// A hash of the methods' shapes: nodes of an id must all have the same size.
    shapes: u64,
}

// SAFETY: `sizes` points to a mapping that lives as long as the process; entries are written before their id is used in
// any class.
unsafe impl Send for Registry {}
// SAFETY: as above.
unsafe impl Sync for Registry {}

impl Registry {
    /// A registry without ids; `None` if the table cannot be reserved.
    pub fn new() -> Option<Registry> {
        // SAFETY: a fresh private mapping at an address of the kernel's choice; pages appear when touched.
        let sizes = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                layout::MAX_METHODS as usize * 8,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if sizes == libc::MAP_FAILED {
            return None;
        }
        let state = State { next_method: layout::ROOT_METHOD + 1, next_class: 1, ..State::default() };
        Some(Registry { state: Mutex::new(state), sizes: sizes.cast() })
    }

    /// Address of the table of node sizes.
    pub fn sizes(&self) -> *mut u32 {
        self.sizes
    }

    /// First of `count` ids for the methods of a class. A class that is rewritten again gets the ids it had.
    pub fn reserve(&self, loader: u32, class: &[u8], count: u32) -> Option<u32> {
        let mut state = lock(&self.state);
        let last = state.ranges.get(&(loader, class.into())).and_then(|ranges| ranges.last());
        if let Some(range) = last
            && range.count == count
        {
            return Some(range.first);
        }
        state.take(count)
    }

    /// Number of slots that nodes of a method have.
    pub fn slots(&self, method: u32) -> u32 {
        if method >= layout::MAX_METHODS {
            return 0;
        }
        // SAFETY: the table has an entry for each id below that; what nobody wrote is 0.
        unsafe { self.sizes.add(method as usize * 2 + 1).read_volatile() }
    }

    /// All ids that were handed out are below this.
    pub fn next_method(&self) -> u32 {
        lock(&self.state).next_method
    }

    /// First of `count` ids that no method has.
    pub fn reserve_anew(&self, count: u32) -> Option<u32> {
        lock(&self.state).take(count)
    }

    /// Enters a rewritten class: sizes for the runtime, names for the reader.
    pub fn enter(
        &self,
        arena: &ArenaWriter,
        loader: u32,
        class: &ClassFile<'_>,
        first: u32,
        shapes: &[Shape],
    ) -> Entered {
        let hash = hash_shapes(first, shapes);
        let count = class.methods().len() as u32;
        let id = {
            let mut state = lock(&self.state);
            let ranges = state.ranges.entry((loader, class.name().into())).or_default();
            if let Some(at) = ranges.iter().position(|range| range.first == first) {
                if ranges.get(at).is_some_and(|range| range.shapes == hash) {
                    // It is the one to try first, next time.
                    let range = ranges.remove(at);
                    ranges.push(range);
                    return Entered::Yes;
                }
                let alike = ranges.iter().find(|range| range.shapes == hash && range.count == count);
                return Entered::OtherShapes(alike.map(|range| range.first));
            }
            ranges.push(Range { first, count, shapes: hash });
            let id = state.next_class;
            state.next_class += 1;
            id
        };
        let mut records = Vec::with_capacity(64 * shapes.len());
        let source = class.source_file().unwrap_or_default();
        Record::Class { id, loader, name: class.name(), source }.encode(&mut records);
        for shape in shapes {
            let Some(method) = class.method(shape.index) else { continue };
            self.set_size(
                shape.id,
                layout::node_size(shape.slots, shape.blocks.len() as u32 / 3),
                shape.slots,
            );
            RewrittenMethod {
                id: shape.id,
                class: id,
                flags: flags(shape),
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
            .encode(&mut records);
        }
        if arena.log_encoded(&records).is_some() { Entered::Yes } else { Entered::Full }
    }

    /// Id of an opaque method, which has no code to carry one.
    pub fn opaque(&self, arena: &ArenaWriter, class: &[u8], name: &[u8], descriptor: &[u8]) -> Option<u32> {
        let mut state = lock(&self.state);
        let key = [class.into(), name.into(), descriptor.into()];
        if let Some(&id) = state.opaque.get(&key) {
            return Some(id);
        }
        let id = state.take(1)?;
        self.name_opaque(&mut state, arena, id, [class, name, descriptor])?;
        state.opaque.insert(key, id);
        Some(id)
    }

    /// Names a method that was presumed to be opaque and is. It has its id already.
    pub fn confirm(
        &self,
        arena: &ArenaWriter,
        id: u32,
        class: &[u8],
        name: &[u8],
        descriptor: &[u8],
    ) -> Option<()> {
        self.name_opaque(&mut lock(&self.state), arena, id, [class, name, descriptor])
    }

    fn name_opaque(
        &self,
        state: &mut State,
        arena: &ArenaWriter,
        id: u32,
        [class, name, descriptor]: [&[u8]; 3],
    ) -> Option<()> {
        let class_id = match state.opaque_classes.get(class) {
            Some(&id) => id,
            None => {
                let id = state.next_class;
                state.next_class += 1;
                arena.log(&Record::Class { id, loader: 0, name: class, source: b"" })?;
                state.opaque_classes.insert(class.into(), id);
                id
            }
        };
        arena.log(&Record::opaque_method(id, class_id, name, descriptor))?;
        self.set_size(id, layout::node_size(0, 0), 0);
        Some(())
    }

    fn set_size(&self, id: u32, size: u64, slots: u32) {
        debug_assert!(id < layout::MAX_METHODS);
        // SAFETY: ids come from `take`, which keeps them below the table's length; nobody reads an entry before the
        // class with that id is defined.
        unsafe {
            self.sizes.add(id as usize * 2).write_volatile(size as u32);
            self.sizes.add(id as usize * 2 + 1).write_volatile(slots);
        }
    }
}

impl State {
    fn take(&mut self, count: u32) -> Option<u32> {
        let first = self.next_method;
        let next = first.checked_add(count).filter(|&next| next <= layout::MAX_METHODS)?;
        self.next_method = next;
        Some(first)
    }
}

fn flags(shape: &Shape) -> u32 {
    match (shape.sampled, shape.timed) {
        (true, _) => flag::SAMPLED,
        (false, Some(Clock::Own)) => flag::TIMED,
        (false, Some(Clock::Callers)) => flag::TIMED | flag::WITHOUT_CLOCK,
        (false, None) => 0,
    }
}

/// Of methods whose ids begin with `first`; whatever that is, methods alike have the same hash.
fn hash_shapes(first: u32, shapes: &[Shape]) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = std::collections::hash_map::DefaultHasher::new();
    for shape in shapes {
        (
            shape.id.wrapping_sub(first),
            shape.index,
            shape.slots,
            shape.blocks.len(),
            shape.per_call,
            shape.sampled,
            shape.timed,
        )
            .hash(&mut hasher);
        shape.leaves.hash(&mut hasher);
    }
    hasher.finish()
}
