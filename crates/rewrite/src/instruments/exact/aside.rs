//! Methods that lead what they call elsewhere: out of the profile, or to what loads classes.

use quipu_classfile::{CodeEditor, EditError, Snippet, VerificationType};

use super::super::Elsewhere;
use super::Settings;
use crate::activation::Guard;
use crate::probes::Probes;

/// What such a method keeps, to find the way back when it ends. Local variables are 0 if there is no such variable.
#[derive(Debug, Clone, Copy)]
pub struct Aside {
    elsewhere: Elsewhere,
    cursor: u16,
    slot: u16,
    tally: u16,
    guard: Option<Guard>,
}

impl Aside {
    /// Appends what goes to the entry.
    pub(super) fn begin(
        code: &mut CodeEditor<'_, '_, '_>,
        probes: &Probes,
        with: Settings<'_>,
        s: &mut Snippet,
        elsewhere: Elsewhere,
    ) -> Result<Aside, EditError> {
        let slot = code.new_local(VerificationType::Long)?;
        let cursor = if probes.have_cursor() || with.plan.activation {
            let class = probes.cursor_class(code.pool())?;
            let cursor = code.new_local(VerificationType::Object(class))?;
            probes.find_cursor(code.pool(), s)?;
            s.astore(cursor);
            cursor
        } else {
            0
        };
        probes.slot(code.pool(), s, cursor)?;
        s.lstore(slot);
        let mut tally = 0;
        if with.exact.tallies() {
            tally = code.new_local(VerificationType::Long)?;
            probes.tally(code.pool(), s, "current", "()J")?;
            s.lstore(tally);
        }
        probes.thread(s, cursor);
        let probe = match elsewhere {
            Elsewhere::Hidden => "hide",
            Elsewhere::Loading => "load",
        };
        probes.call(code.pool(), s, probe, "(@)V")?;
        let guard = with.plan.activation.then(|| Guard::pause(code)).transpose()?;
        if let Some(guard) = guard {
            guard.enter(code, probes, s, cursor)?;
        }
        Ok(Aside { elsewhere, cursor, slot, tally, guard })
    }

    /// Whether what the method calls is in no context.
    pub fn hides(&self) -> bool {
        self.elsewhere == Elsewhere::Hidden
    }

    /// Appends a return to the context that the method was called in.
    pub fn leave(
        self,
        code: &mut CodeEditor<'_, '_, '_>,
        probes: &Probes,
        s: &mut Snippet,
    ) -> Result<(), EditError> {
        probes.thread(s, self.cursor);
        s.lload(self.slot);
        probes.call(code.pool(), s, "restore", "(@J)V")
    }

    /// Appends that what is called is in no context again.
    pub fn enter(
        self,
        code: &mut CodeEditor<'_, '_, '_>,
        probes: &Probes,
        s: &mut Snippet,
    ) -> Result<(), EditError> {
        probes.thread(s, self.cursor);
        probes.call(code.pool(), s, "hide", "(@)V")
    }

    /// Appends what goes to the exits.
    pub fn end(
        self,
        code: &mut CodeEditor<'_, '_, '_>,
        probes: &Probes,
        s: &mut Snippet,
    ) -> Result<(), EditError> {
        if let Some(guard) = self.guard {
            guard.leave(code, probes, s, self.cursor)?;
        }
        if self.elsewhere == Elsewhere::Loading {
            probes.thread(s, self.cursor);
            probes.call(code.pool(), s, "loaded", "(@)V")?;
        }
        self.leave(code, probes, s)?;
        if self.tally != 0 {
            s.lload(self.tally);
            probes.tally(code.pool(), s, "restore", "(J)V")?;
        }
        Ok(())
    }
}
