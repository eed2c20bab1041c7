//! The runtime's entrances, as constant pool entries of the class that is edited.

use quipu_classfile::{EditError, PoolEditor, Snippet};

/// Pool indices of what inserted code refers to, entered when first used.
pub struct Probes {
    probe: Vec<u8>,
    cursor: Vec<u8>,
    cursor_descriptor: String,
}

impl Probes {
    /// Of the runtime in a package.
    pub fn new(runtime: &str) -> Probes {
        Probes {
            probe: format!("{runtime}/Probe").into_bytes(),
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
        let descriptor = descriptor.replace('@', &self.cursor_descriptor);
        let index = pool.method_ref(&self.probe, name.as_bytes(), descriptor.as_bytes())?;
        snippet.invokestatic(index, descriptor.as_bytes());
        Ok(())
    }

    /// Appends a read of the cursor's slot.
    pub fn slot(&self, pool: &mut PoolEditor<'_, '_>, snippet: &mut Snippet) -> Result<(), EditError> {
        let index = pool.field_ref(&self.cursor, b"slot", b"J")?;
        snippet.getfield(index, b"J");
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
