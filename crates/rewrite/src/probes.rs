//! The runtime's entrances, as constant pool entries of the class that is edited.

use quipu_classfile::opcode::IADD;
use quipu_classfile::{EditError, PoolEditor, Snippet};

/// Pool indices of what inserted code refers to, entered when first used.
pub struct Probes {
    probe: Vec<u8>,
    activation: Vec<u8>,
    cursor: Vec<u8>,
    cursor_descriptor: String,
    relative_to: Option<Vec<u8>>,
}

impl Probes {
    /// Of the runtime in a package; words are relative to a class's `WORD`, if one is given.
    pub fn new(runtime: &str, relative_to: Option<&str>) -> Probes {
        Probes {
            relative_to: relative_to.map(|class| class.as_bytes().to_vec()),
            probe: format!("{runtime}/Probe").into_bytes(),
            activation: format!("{runtime}/Activation").into_bytes(),
            cursor: format!("{runtime}/Cursor").into_bytes(),
            cursor_descriptor: format!("L{runtime}/Cursor;"),
        }
    }

    /// The class of cursors.
    pub fn cursor_class(&self, pool: &mut PoolEditor<'_, '_>) -> Result<u16, EditError> {
        pool.class(&self.cursor)
    }

    /// Appends a call of a probe. In the descriptor `@` stands for the cursor's type.
    pub fn call(
        &self,
        pool: &mut PoolEditor<'_, '_>,
        snippet: &mut Snippet,
        name: &str,
        descriptor: &str,
    ) -> Result<(), EditError> {
        self.call_in(&self.probe, pool, snippet, name, descriptor)
    }

    /// Appends a call of the code that brings agents in; there only while there is one.
    pub fn activation(
        &self,
        pool: &mut PoolEditor<'_, '_>,
        snippet: &mut Snippet,
        name: &str,
        descriptor: &str,
    ) -> Result<(), EditError> {
        self.call_in(&self.activation, pool, snippet, name, descriptor)
    }

    fn call_in(
        &self,
        class: &[u8],
        pool: &mut PoolEditor<'_, '_>,
        snippet: &mut Snippet,
        name: &str,
        descriptor: &str,
    ) -> Result<(), EditError> {
        let descriptor = descriptor.replace('@', &self.cursor_descriptor);
        let index = pool.method_ref(class, name.as_bytes(), descriptor.as_bytes())?;
        snippet.invokestatic(index, descriptor.as_bytes());
        Ok(())
    }

    /// Appends a read of the cursor's slot.
    pub fn slot(&self, pool: &mut PoolEditor<'_, '_>, snippet: &mut Snippet) -> Result<(), EditError> {
        let index = pool.field_ref(&self.cursor, b"slot", b"J")?;
        snippet.getfield(index, b"J");
        Ok(())
    }

    /// Appends how a method id stands in a node.
    pub fn word(
        &self,
        pool: &mut PoolEditor<'_, '_>,
        snippet: &mut Snippet,
        id: u32,
    ) -> Result<(), EditError> {
        self.int(pool, snippet, id << 1 | 1)?;
        if let Some(class) = &self.relative_to {
            let base = pool.field_ref(class, b"WORD", b"I")?;
            snippet.getstatic(base, b"I").op(IADD);
        }
        Ok(())
    }

    /// Appends an int constant in its shortest form.
    pub fn int(
        &self,
        pool: &mut PoolEditor<'_, '_>,
        snippet: &mut Snippet,
        value: u32,
    ) -> Result<(), EditError> {
        match i16::try_from(value) {
            Ok(small) => snippet.int16(small),
            Err(_) => snippet.ldc(pool.int(value.cast_signed())?),
        };
        Ok(())
    }
}
