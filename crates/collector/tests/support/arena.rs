//! Arenas put together by hand.

use quipu_arena::layout::{self, chunk, header, node, slot};

/// An arena being put together.
pub struct Arena(pub Vec<u8>);

impl Arena {
    pub fn new() -> Arena {
        let mut arena = Arena(vec![0; layout::HEADER_SIZE as usize]);
        arena.put(header::MAGIC, &layout::MAGIC.to_ne_bytes());
        arena.put(header::VERSION, &layout::VERSION.to_ne_bytes());
        arena
    }

    pub fn put(&mut self, at: u64, value: &[u8]) {
        self.0[at as usize..at as usize + value.len()].copy_from_slice(value);
    }

    pub fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Appends a chunk.
    pub fn chunk(&mut self, kind: u32, tree: u32, contents: &[u8]) {
        let at = self.len();
        let used = chunk::HEADER + contents.len() as u64;
        let size = used.next_multiple_of(layout::CHUNK_ALIGN);
        self.0.resize((at + size) as usize, 0);
        self.put(at + chunk::KIND, &kind.to_ne_bytes());
        self.put(at + chunk::TREE, &tree.to_ne_bytes());
        self.put(at + chunk::SIZE, &size.to_ne_bytes());
        self.put(at + chunk::USED, &used.to_ne_bytes());
        self.put(at + chunk::HEADER, contents);
        let end = self.len();
        self.put(header::USED, &end.to_ne_bytes());
    }

    /// A tree in which each of `methods` is called by the one before it, through slot 1.
    pub fn chain(&mut self, tree: u32, methods: &[u32]) {
        let first = self.len() + chunk::HEADER;
        let stride = layout::node_size(2, 2);
        let id = |i: usize| ((first + stride * i as u64) / layout::ID_UNIT) as u32;
        let mut bytes = vec![0; stride as usize * methods.len()];
        for (i, &method) in methods.iter().enumerate() {
            let mut put = |at: u64, value: &[u8]| {
                let at = (stride * i as u64 + at) as usize;
                bytes[at..at + value.len()].copy_from_slice(value);
            };
            put(node::METHOD, &layout::method_word(method).to_ne_bytes());
            put(node::PARENT, &(if i == 0 { 0 } else { id(i - 1) }).to_ne_bytes());
            put(node::BYTECODES, &(100 * i as u64).to_ne_bytes());
            put(node::STRIDE, &((stride / 8) as u16).to_ne_bytes());
            put(node::SITE, &u16::from(i > 0).to_ne_bytes());
            put(stride - 16, &7u64.to_ne_bytes());
            if let Some(&callee) = methods.get(i + 1) {
                let at = node::SLOTS + slot::SIZE;
                put(at + slot::METHOD, &layout::method_word(callee).to_ne_bytes());
                let distance = (stride - at) as i32 / layout::LINK_UNIT as i32;
                put(at + slot::NODE, &distance.to_ne_bytes());
                put(at + slot::CALLS, &(i as u64 + 1).to_ne_bytes());
            }
        }
        self.chunk(layout::CHUNK_NODES, tree, &bytes);
    }
}
