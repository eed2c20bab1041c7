//! Exact profiles: every method finds its node when it is entered and counts its bytecodes there, however it is left
//! (`counted.rs`), or is counted without a context (`tallied.rs`). Opaque methods count nothing; those that call others
//! hide what they call.

use quipu_classfile::opcode::InstructionClass;
use quipu_classfile::{ClassEditor, ClassFile, Code, EditError, Method, Snippet};

use crate::aside::{Aside, Elsewhere};
use crate::probes::Probes;
use crate::recursion::recursive_methods;
use crate::sampling;
use crate::selection::untouchable;
use crate::treatment::Treatment;
use crate::{Contexts, Known, Left, Plan, Rewritten, counted, kept, tallied};

/// Rewrites a class. Its methods get the ids from `first` on, in their order.
pub fn rewrite(
    class: &ClassFile<'_>,
    plan: &Plan,
    first: u32,
    known: &dyn Known,
) -> Result<Rewritten, EditError> {
    let untouchable = untouchable(class.name());
    let probes = if plan.sampling { Probes::sampling(plan) } else { Probes::new(plan) };
    let recursive = if plan.sampling { recursive_methods(class, sampling::LARGE) } else { Vec::new() };
    let mut editor = ClassEditor::with_scratch(class, kept::take());
    let mut out = Rewritten::default();
    for method in class.methods() {
        let treatment = match Treatment::of(&method, untouchable) {
            Treatment::Count if is_empty_finalizer(&method) => continue,
            Treatment::Count | Treatment::CountLoading
                if !plan.selection.method(class.name(), method.name()) =>
            {
                continue;
            }
            Treatment::Leave(_) => continue,
            treatment => treatment,
        };
        let id = first + method.index() as u32;
        let edited = match treatment {
            _ if plan.sampling => {
                let recursive = recursive.get(method.index()) == Some(&true);
                sampling::edit(&mut editor, &probes, method, treatment, id, plan, recursive)
            }
            Treatment::Count | Treatment::CountLoading => {
                let count = match plan.contexts {
                    Contexts::All | Contexts::Application => counted::count,
                    Contexts::Charged | Contexts::None => tallied::count,
                };
                let loading = treatment == Treatment::CountLoading;
                count(&mut editor, &probes, method, id, plan, known, loading).map(Some)
            }
            Treatment::Opaque => aside(&mut editor, &probes, method, plan, Elsewhere::Hidden).map(|()| None),
            Treatment::Loading => {
                aside(&mut editor, &probes, method, plan, Elsewhere::Loading).map(|()| None)
            }
            Treatment::Leave(_) => Ok(None),
        };
        match edited {
            Ok(Some(shape)) => out.shapes.push(shape),
            Ok(None) => {}
            Err(error) => out.left.push(Left { index: method.index(), why: error.to_string() }),
        }
    }
    let is_changed = editor.is_changed();
    let (bytes, scratch) = editor.finish();
    kept::keep(scratch);
    out.bytes = is_changed.then(|| bytes.into_owned());
    Ok(out)
}

/// An empty `finalize()` means to the VM that the class has no finalizer; with code in it, every instance gets one.
fn is_empty_finalizer(method: &Method<'_, '_>) -> bool {
    method.name() == b"finalize"
        && method.descriptor() == b"()V"
        && method.code().ok().flatten().is_some_and(|code| code.bytes.len() == 1)
}

/// A method that counts nothing itself: what it calls is kept aside. Left alone if it calls nothing.
fn aside(
    editor: &mut ClassEditor<'_, '_>,
    probes: &Probes,
    method: Method<'_, '_>,
    plan: &Plan,
    elsewhere: Elsewhere,
) -> Result<(), EditError> {
    let Some(mut code) = editor.edit_method(method.index())? else { return Ok(()) };
    if !makes_calls(code.code()) {
        return Ok(());
    }
    let mut s = Snippet::new();
    let aside = Aside::begin(&mut code, probes, plan, &mut s, elsewhere)?;
    code.insert_entry(&s)?;
    s.clear();
    aside.end(&mut code, probes, &mut s)?;
    code.insert_before_returns(&s)?;
    code.catch_all(s.athrow())?;
    code.finish().map(drop)
}

/// Whether it calls something, or has the VM do so.
pub(crate) fn makes_calls(code: &Code<'_>) -> bool {
    code.instructions().map_while(Result::ok).any(|i| {
        matches!(
            i.info().class,
            InstructionClass::Invoke | InstructionClass::Allocation | InstructionClass::StaticField
        )
    })
}
