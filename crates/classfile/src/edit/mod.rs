//! Editing: code is inserted into methods, everything else is copied byte for byte.

mod code_editor;
mod emit;
mod frame_moves;
mod frame_table;
mod layout;
mod output;
mod pen;
mod pool;
mod positions;
mod simulate;
mod snippet;
mod this;
mod type_annotations;
mod weave;

use std::borrow::Cow;

pub(crate) use code_editor::CatchAll;
pub use code_editor::{CodeEditor, Edge, Edited, VerificationType};
pub(crate) use layout::Layout;
pub(crate) use output::make_room;
use output::{Growth, Output};
pub use pool::PoolEditor;
pub use snippet::Snippet;

use crate::class::{Attribute, ClassFile};
use crate::code::Code;
use crate::error::EditError;
use crate::scan::Scan;
use crate::types::Types;

/// Buffers that outlive a class: hand them from one editor to the next to avoid allocating.
#[derive(Debug, Default)]
pub struct Scratch {
    // Behind a pointer: there are many of them, and they are handed over with every class.
    kept: Option<Box<Buffers>>,
}

impl Scratch {
    /// Takes the memory of an edited class that is not needed any more.
    pub fn take_back(&mut self, class: Vec<u8>) {
        if let Some(kept) = &mut self.kept {
            kept.output.take_back(class);
        }
    }

    /// Bytes it keeps. One that a huge class made large may be better given up than kept for long.
    pub fn memory(&self) -> usize {
        self.kept.as_ref().map_or(0, |kept| kept.memory())
    }
}

/// What a [`Scratch`] keeps.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    pub(crate) scan: Scan,
    pub(crate) layout: Layout,
    pub(crate) new_locals: Types,
    pub(crate) entry_locals: Types,
    pub(crate) frame_locals: Types,
    pub(crate) frame_previous: Types,
    pub(crate) frame_wanted: Types,
    pub(crate) regions: Vec<this::Region>,
    pub(crate) simulator: simulate::Simulator,
    pool: Option<Box<pool::NewEntries>>,
    pub(crate) output: Output,
}

impl Buffers {
    fn memory(&self) -> usize {
        let pool = self.pool.as_ref().map_or(0, |pool| pool.memory());
        self.scan.memory() + self.layout.memory() + pool + self.output.memory()
    }
}

/// Edits the methods of one class.
#[derive(Debug)]
pub struct ClassEditor<'c, 'a> {
    pub(crate) class: &'c ClassFile<'a>,
    pub(crate) pool: PoolEditor<'c, 'a>,
    pub(crate) scratch: Box<Buffers>,
    pub(crate) kinds: emit::Kinds,
    // Of the method being edited: here they are written once, and not moved with every editor of a method.
    pub(crate) attribute: Attribute<'a>,
    pub(crate) code: Code<'a>,
}

impl<'c, 'a> ClassEditor<'c, 'a> {
    /// An editor with its own buffers.
    pub fn new(class: &'c ClassFile<'a>) -> Self {
        ClassEditor::with_scratch(class, Scratch::default())
    }

    /// An editor that uses buffers of an earlier one.
    pub fn with_scratch(class: &'c ClassFile<'a>, scratch: Scratch) -> Self {
        let mut scratch = scratch.kept.unwrap_or_default();
        scratch.output.clear();
        let pool = PoolEditor::new(class.pool(), scratch.pool.take().unwrap_or_default());
        ClassEditor {
            class,
            pool,
            scratch,
            kinds: emit::Kinds::default(),
            attribute: Attribute::default(),
            code: Code::default(),
        }
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
        let code = self.kinds.code(&method.attributes(), self.class.pool());
        let Some(attribute) = code else { return Ok(None) };
        CodeEditor::open(self, method, attribute).map(Some)
    }

    /// Adds fields in front of the others, each with access flags, name and descriptor. A second call replaces the first.
    pub fn add_fields(&mut self, fields: &[(u16, &[u8], &[u8])]) -> Result<(), EditError> {
        let count = u16::try_from(self.class.fields().len() + fields.len())
            .map_err(|_| EditError::BadSnippet("the class has too many fields"))?;
        // Access flags, this class, super class, number of interfaces; then the interfaces.
        let old_start = self.class.pool().end() + 8 + 2 * self.class.interfaces_len();
        let pool = &mut self.pool;
        let growth = Growth { code: 0, tables: 8 * fields.len(), pool: 0 };
        self.scratch.output.replace(self.class, old_start, old_start + 2, growth, |out| {
            out.extend(count.to_be_bytes());
            for &(access_flags, name, descriptor) in fields {
                for part in [access_flags, pool.utf8(name)?, pool.utf8(descriptor)?, 0] {
                    out.extend(part.to_be_bytes());
                }
            }
            Ok(())
        })
    }

    /// Where old positions of the last finished method went. `bci` must be the start of an instruction; branches to
    /// it now go to the first, the instruction itself is at the second.
    pub fn last_position(&self, bci: u32) -> (u32, u32) {
        (self.scratch.layout.label(bci), self.scratch.layout.instruction(bci))
    }

    /// Was anything changed?
    pub fn is_changed(&self) -> bool {
        !self.scratch.output.is_empty()
    }

    /// The class file: the bytes given if no method was changed.
    pub fn into_bytes(self) -> Cow<'a, [u8]> {
        self.finish().0
    }

    /// The class file, and the buffers for the next editor.
    pub fn finish(mut self) -> (Cow<'a, [u8]>, Scratch) {
        let bytes = if self.is_changed() {
            let output = &mut self.scratch.output;
            Cow::Owned(output.finish(self.class, self.pool.added(), self.pool.count()))
        } else {
            Cow::Borrowed(self.class.bytes())
        };
        self.scratch.pool = Some(self.pool.into_buffers());
        (bytes, Scratch { kept: Some(self.scratch) })
    }
}
