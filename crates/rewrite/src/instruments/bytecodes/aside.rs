//! Methods that count nothing themselves: what they call is counted elsewhere.

use quipu_classfile::{CodeEditor, EditError, Snippet, VerificationType};

use super::super::Elsewhere;
use crate::probes::Probes;

/// What such a method keeps to find the way back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Aside {
    elsewhere: Elsewhere,
    top: u16,
    left: u16,
}

impl Aside {
    /// Appends what goes to the entry.
    pub(super) fn begin(
        code: &mut CodeEditor<'_, '_, '_>,
        probes: &Probes,
        s: &mut Snippet,
        elsewhere: Elsewhere,
    ) -> Result<Aside, EditError> {
        let top = code.new_local(VerificationType::Long)?;
        let left = code.new_local(VerificationType::Long)?;
        probes.call(code.pool(), s, "top", "()J")?;
        s.lstore(top);
        let probe = match elsewhere {
            Elsewhere::Hidden => "hide",
            Elsewhere::Loading => "load",
        };
        probes.call(code.pool(), s, probe, "()J")?;
        s.lstore(left);
        Ok(Aside { elsewhere, top, left })
    }

    /// Appends what goes to the exits.
    pub(super) fn end(
        self,
        code: &mut CodeEditor<'_, '_, '_>,
        probes: &Probes,
        s: &mut Snippet,
    ) -> Result<(), EditError> {
        s.lload(self.top).lload(self.left);
        let probe = match self.elsewhere {
            Elsewhere::Hidden => "restore",
            Elsewhere::Loading => "loaded",
        };
        probes.call(code.pool(), s, probe, "(JJ)V")
    }
}
