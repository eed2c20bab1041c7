//! Editing: code is inserted into methods, everything else is copied byte for byte.

mod code_editor;
mod emit;
mod frame_moves;
mod frame_table;
mod layout;
mod pool;
mod simulate;
mod snippet;
mod this;
mod type_annotations;

use std::borrow::Cow;

pub(crate) use code_editor::CatchAll;
pub use code_editor::{CodeEditor, Edge, Edited, VerificationType};
pub(crate) use layout::Layout;
pub use pool::PoolEditor;
pub use snippet::Snippet;

use crate::class::ClassFile;
use crate::error::EditError;
use crate::frames::VType;
use crate::scan::Scan;

/// Buffers that outlive a class: hand them from one editor to the next to avoid allocating.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(crate) scan: Scan,
    pub(crate) layout: Layout,
    pub(crate) new_locals: Vec<VType>,
    pub(crate) entry_locals: Vec<VType>,
    pub(crate) frame_locals: Vec<VType>,
    pub(crate) frame_previous: Vec<VType>,
    pub(crate) frame_stack: Vec<VType>,
    pub(crate) frame_wanted: Vec<VType>,
    pub(crate) regions: Vec<this::Region>,
    pub(crate) simulator: simulate::Simulator,
    code: Vec<u8>,
    splices: Vec<Splice>,
}

/// A new `Code` attribute or field: the range of the class file it replaces, and where it is in the buffer.
#[derive(Clone, Copy, Debug)]
struct Splice {
    old_start: usize,
    old_end: usize,
    start: usize,
    end: usize,
}

/// Edits the methods of one class.
#[derive(Debug)]
pub struct ClassEditor<'c, 'a> {
    pub(crate) class: &'c ClassFile<'a>,
    pub(crate) pool: PoolEditor<'c, 'a>,
    pub(crate) scratch: Scratch,
}

impl<'c, 'a> ClassEditor<'c, 'a> {
    /// An editor with its own buffers.
    pub fn new(class: &'c ClassFile<'a>) -> Self {
        ClassEditor::with_scratch(class, Scratch::default())
    }

    /// An editor that uses buffers of an earlier one.
    pub fn with_scratch(class: &'c ClassFile<'a>, mut scratch: Scratch) -> Self {
        scratch.code.clear();
        scratch.splices.clear();
        // Most of a class that gets edited is code; growing step by step would need it twice.
        scratch.code.reserve_exact(class.bytes().len());
        ClassEditor { class, pool: PoolEditor::new(class.pool()), scratch }
    }

    /// The class being edited, as it was.
    pub fn class(&self) -> &'c ClassFile<'a> {
        self.class
    }

    /// The growing constant pool.
    pub fn pool(&mut self) -> &mut PoolEditor<'c, 'a> {
        &mut self.pool
    }

    /// Starts editing a method; `None` if it has no code. Nothing changes until [`CodeEditor::finish`].
    /// Editing a method again starts from its old code and replaces the earlier edit.
    pub fn edit_method(&mut self, index: usize) -> Result<Option<CodeEditor<'_, 'c, 'a>>, EditError> {
        let Some(method) = self.class.method(index) else { return Ok(None) };
        let Some(attribute) = method.code_attribute() else { return Ok(None) };
        CodeEditor::open(self, method, attribute).map(Some)
    }

    /// Adds fields in front of the others, each with access flags, name and descriptor. A second call replaces the first.
    pub fn add_fields(&mut self, fields: &[(u16, &[u8], &[u8])]) -> Result<(), EditError> {
        let count = u16::try_from(self.class.fields().len() + fields.len())
            .map_err(|_| EditError::BadSnippet("the class has too many fields"))?;
        // Access flags, this class, super class, number of interfaces; then the interfaces.
        let old_start = self.class.pool().end() + 8 + 2 * self.class.interfaces_len();
        let start = self.scratch.code.len();
        self.scratch.code.extend(count.to_be_bytes());
        for &(access_flags, name, descriptor) in fields {
            let names = (self.pool.utf8(name)?, self.pool.utf8(descriptor)?);
            for part in [access_flags, names.0, names.1, 0] {
                self.scratch.code.extend(part.to_be_bytes());
            }
        }
        let end = self.scratch.code.len();
        self.scratch.splices.retain(|s| s.old_start != old_start);
        self.scratch.splices.push(Splice { old_start, old_end: old_start + 2, start, end });
        Ok(())
    }

    /// Where old positions of the last finished method went. `bci` must be the start of an instruction; branches to
    /// it now go to the first, the instruction itself is at the second.
    pub fn last_position(&self, bci: u32) -> (u32, u32) {
        (self.scratch.layout.label(bci), self.scratch.layout.instruction(bci))
    }

    /// Was anything changed?
    pub fn is_changed(&self) -> bool {
        !self.scratch.splices.is_empty()
    }

    /// The class file: the bytes given if no method was changed.
    pub fn into_bytes(self) -> Cow<'a, [u8]> {
        self.finish().0
    }

    /// The class file, and the buffers for the next editor.
    pub fn finish(mut self) -> (Cow<'a, [u8]>, Scratch) {
        let bytes = self.class.bytes();
        if self.scratch.splices.is_empty() {
            return (Cow::Borrowed(bytes), self.scratch);
        }
        self.scratch.splices.sort_by_key(|s| s.old_start);
        let replaced: usize = self.scratch.splices.iter().map(|s| s.old_end - s.old_start).sum();
        let added: usize = self.scratch.splices.iter().map(|s| s.end - s.start).sum();
        let mut out = Vec::with_capacity(bytes.len() - replaced + added + self.pool.added().len());
        let old = |from: usize, to: usize| bytes.get(from..to).unwrap_or_default();
        let pool_end = self.class.pool().end();
        out.extend_from_slice(old(0, 8));
        out.extend(self.pool.count().to_be_bytes());
        out.extend_from_slice(old(10, pool_end));
        out.extend_from_slice(self.pool.added());
        let mut copied = pool_end;
        for splice in &self.scratch.splices {
            out.extend_from_slice(old(copied, splice.old_start));
            out.extend_from_slice(self.scratch.code.get(splice.start..splice.end).unwrap_or_default());
            copied = splice.old_end;
        }
        out.extend_from_slice(old(copied, bytes.len()));
        (Cow::Owned(out), self.scratch)
    }
}
