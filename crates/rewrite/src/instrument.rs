//! An instrument inserts the code of one kind of measurement. A method can carry several.
//!
//! The instruments of a plan lie one in the other, like brackets: the first is the outermost. So
//!
//! - [`Inserter::before`] is called in the order of the plan. What it inserts at an entry or before an instruction runs
//!   in that order too: the outermost instrument's first.
//! - [`Inserter::after`] is called in the opposite order. What it inserts behind an instruction, before returns and for
//!   exceptions runs in that order: the outermost instrument's last.
//!
//! An instrument that keeps to this finds everything as those around it have set it up: the context of the method is
//! entered before, and left after, whatever else is measured in it. It never sees the code of the others: positions and
//! blocks are those of the method as it was.

use std::fmt;

use quipu_classfile::{ClassFile, CodeEditor, EditError, Method, PoolEditor, Snippet};

use crate::instruments::Aside;
use crate::probes::Probes;
use crate::{Known, Plan, Shape, Site, Treatment};

/// What one kind of measurement inserts, for any class.
pub trait Instrument: fmt::Debug + Send + Sync {
    /// How it is called where methods are listed that it could not be put into.
    fn name(&self) -> &'static str;

    /// What inserts it into the methods of a class.
    fn inserter<'p>(
        &'p self,
        class: &ClassFile<'_>,
        plan: &'p Plan,
        known: &'p dyn Known,
    ) -> Box<dyn Inserter + 'p>;
}

/// What one kind of measurement inserts into the methods of one class, one method after the other. It keeps what it has
/// to know of the method from `before` to `after`. If something fails, the method is edited anew without this instrument.
pub trait Inserter {
    /// Inserts what comes first: at the entry, before blocks and instructions.
    fn before(&mut self, edit: &mut MethodEdit<'_, '_, '_, '_>) -> Result<(), EditError>;

    /// Inserts what comes last: behind instructions, before returns, and for exceptions that leave the method.
    fn after(&mut self, edit: &mut MethodEdit<'_, '_, '_, '_>) -> Result<(), EditError>;
}

/// A method that is being edited.
pub struct MethodEdit<'m, 'e, 'c, 'a> {
    /// What takes the code of all instruments. The driver finishes it.
    pub code: CodeEditor<'e, 'c, 'a>,
    /// The method's id.
    pub id: u32,
    /// What is done with the method.
    pub treatment: Treatment,
    /// The runtime's entrances.
    pub probes: &'m Probes,
    /// What the method's nodes look like; set by the instrument that counts.
    pub shape: Option<Shape>,
    /// If the method leads what it calls out of the profile: where it keeps the context that it was called in.
    pub(crate) aside: Option<Aside>,
    /// Whether instructions of it are told from all others.
    pub(crate) has_sites: bool,
    pub(crate) known: &'m dyn Known,
}

impl<'c, 'a> MethodEdit<'_, '_, 'c, 'a> {
    /// The method as it was.
    pub fn method(&self) -> Method<'c, 'a> {
        self.code.method()
    }

    /// The number of one of its instructions among all instructions that are told apart, such as those that allocate or
    /// lock; `None` if there is no room for another. `class` is the signature of what it is about, or empty.
    pub fn site(&mut self, of: &'static str, bci: u32, class: &[u8]) -> Option<u32> {
        let found = self.known.site(&Site { method: self.id, bci, of, class })?;
        self.has_sites = true;
        Some(found)
    }

    /// Appends something that is charged to the context that the method was called in, also where what it calls is in none.
    pub fn in_context(
        &mut self,
        snippet: &mut Snippet,
        append: impl FnOnce(&mut PoolEditor<'_, '_>, &Probes, &mut Snippet) -> Result<(), EditError>,
    ) -> Result<(), EditError> {
        let probes = self.probes;
        if let Some(aside) = self.aside {
            aside.leave(&mut self.code, probes, snippet)?;
        }
        append(self.code.pool(), probes, snippet)?;
        if let Some(aside) = self.aside {
            aside.enter(&mut self.code, probes, snippet)?;
        }
        Ok(())
    }
}
