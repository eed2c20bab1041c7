//! The runtime's entrances, as constant pool entries of the class that is edited.

use quipu_classfile::opcode::IADD;
use quipu_classfile::{EditError, PoolEditor, Snippet};

use crate::Plan;
use crate::agreed::{TALLY_CELL, method_word};

/// Pool indices of what inserted code refers to, entered when first used.
pub struct Probes {
    runtime: &'static str,
    /// Has what needs to know the thread.
    threaded: Vec<u8>,
    probe: Vec<u8>,
    tally: Vec<u8>,
    activation: Vec<u8>,
    cursor: Vec<u8>,
    cursor_descriptor: String,
    relative_to: Option<Vec<u8>>,
    direct: bool,
}

impl Probes {
    /// Of the runtime that a plan names.
    pub(crate) fn new(plan: &Plan) -> Probes {
        let runtime = plan.runtime;
        let (threaded, direct) = match (plan.samples_bytecodes(), plan.direct) {
            (true, _) => ("Sampler", true),
            (false, true) => ("Direct", true),
            (false, false) => ("Probe", false),
        };
        Probes {
            runtime,
            relative_to: plan.relative_to.as_ref().map(|class| class.as_bytes().to_vec()),
            threaded: format!("{runtime}/{threaded}").into_bytes(),
            probe: format!("{runtime}/Probe").into_bytes(),
            tally: format!("{runtime}/Tally").into_bytes(),
            activation: format!("{runtime}/Activation").into_bytes(),
            cursor: format!("{runtime}/Cursor").into_bytes(),
            cursor_descriptor: format!("L{runtime}/Cursor;"),
            direct,
        }
    }

    /// Whether methods keep their thread's cursor. If not, the thread itself has what they need of it.
    pub fn have_cursor(&self) -> bool {
        !self.direct
    }

    /// Appends the cursor, if methods keep one.
    pub fn thread(&self, snippet: &mut Snippet, cursor: u16) {
        if !self.direct {
            snippet.aload(cursor);
        }
    }

    /// A descriptor in which `@` stands for the cursor.
    pub fn with_cursor(&self, descriptor: &str) -> String {
        descriptor.replace('@', &self.cursor_descriptor)
    }

    /// A field of cursors.
    pub fn cursor_field(&self, pool: &mut PoolEditor<'_, '_>, name: &[u8]) -> Result<u16, EditError> {
        pool.field_ref(&self.cursor, name, b"J")
    }

    /// Appends a search for the thread's cursor.
    pub fn find_cursor(&self, pool: &mut PoolEditor<'_, '_>, snippet: &mut Snippet) -> Result<(), EditError> {
        self.call_in(&self.probe, pool, snippet, "cursor", &format!("(){}", self.cursor_descriptor))
    }

    /// The class of cursors.
    pub fn cursor_class(&self, pool: &mut PoolEditor<'_, '_>) -> Result<u16, EditError> {
        pool.class(&self.cursor)
    }

    /// Appends a call of a probe that needs to know the thread. In the descriptor `@` stands for the cursor, where
    /// methods keep one.
    pub fn call(
        &self,
        pool: &mut PoolEditor<'_, '_>,
        snippet: &mut Snippet,
        name: &str,
        descriptor: &str,
    ) -> Result<(), EditError> {
        let cursor = if self.direct { "" } else { &self.cursor_descriptor };
        self.call_in(&self.threaded, pool, snippet, name, &descriptor.replace('@', cursor))
    }

    /// Appends a call of a probe that is the same for all threads.
    pub fn shared(
        &self,
        pool: &mut PoolEditor<'_, '_>,
        snippet: &mut Snippet,
        name: &str,
        descriptor: &str,
    ) -> Result<(), EditError> {
        self.call_in(&self.probe, pool, snippet, name, descriptor)
    }

    /// Appends a call of a probe of methods that have no context.
    pub fn tally(
        &self,
        pool: &mut PoolEditor<'_, '_>,
        snippet: &mut Snippet,
        name: &str,
        descriptor: &str,
    ) -> Result<(), EditError> {
        self.call_in(&self.tally, pool, snippet, name, descriptor)
    }

    /// Appends where a method is in a tally.
    pub fn cell(
        &self,
        pool: &mut PoolEditor<'_, '_>,
        snippet: &mut Snippet,
        id: u32,
    ) -> Result<(), EditError> {
        self.int(pool, snippet, id.wrapping_mul(TALLY_CELL))
    }

    /// Appends a call of the code that brings agents in; there only while there is one.
    pub fn activation(
        &self,
        pool: &mut PoolEditor<'_, '_>,
        snippet: &mut Snippet,
        name: &str,
        descriptor: &str,
    ) -> Result<(), EditError> {
        let descriptor = descriptor.replace('@', &self.cursor_descriptor);
        self.call_in(&self.activation, pool, snippet, name, &descriptor)
    }

    /// Appends a call of a probe in a class of the runtime: for instruments that have one of their own.
    pub fn call_class(
        &self,
        class: &str,
        pool: &mut PoolEditor<'_, '_>,
        snippet: &mut Snippet,
        name: &str,
        descriptor: &str,
    ) -> Result<(), EditError> {
        let class = format!("{}/{class}", self.runtime);
        self.call_in(class.as_bytes(), pool, snippet, name, descriptor)
    }

    fn call_in(
        &self,
        class: &[u8],
        pool: &mut PoolEditor<'_, '_>,
        snippet: &mut Snippet,
        name: &str,
        descriptor: &str,
    ) -> Result<(), EditError> {
        let index = pool.method_ref(class, name.as_bytes(), descriptor.as_bytes())?;
        snippet.invokestatic(index, descriptor.as_bytes());
        Ok(())
    }

    /// Appends a read of the published slot.
    pub fn slot(
        &self,
        pool: &mut PoolEditor<'_, '_>,
        snippet: &mut Snippet,
        cursor: u16,
    ) -> Result<(), EditError> {
        if self.direct {
            return self.call(pool, snippet, "slot", "()J");
        }
        snippet.aload(cursor);
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
        self.int(pool, snippet, method_word(id))?;
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
