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

use quipu_classfile::{ClassFile, CodeEditor, EditError, Method};

use crate::probes::Probes;
use crate::{Known, Plan, Shape, Treatment};

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
    pub(crate) known: &'m dyn Known,
}

impl<'c, 'a> MethodEdit<'_, '_, 'c, 'a> {
    /// The method as it was.
    pub fn method(&self) -> Method<'c, 'a> {
        self.code.method()
    }

    /// The number of one of its instructions among all instructions that are told apart, such as those that allocate or
    /// lock; `None` if there is no room for another.
    pub fn site(&self, bci: u32) -> Option<u32> {
        self.known.site(self.id, bci)
    }
}
