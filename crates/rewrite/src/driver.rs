//! Rewriting a class: each method is opened once, takes what every instrument of the plan inserts, and is finished once.

use quipu_classfile::{ClassEditor, ClassFile, EditError, Method};

use crate::instrument::{Inserter, MethodEdit};
use crate::probes::Probes;
use crate::rewritten::lines;
use crate::selection::untouchable;
use crate::treatment::Treatment;
use crate::{Known, LONGEST_COMPILED, Left, Plan, Rewritten, Shape, kept};

/// An instrument at work on a class.
struct Worker<'p> {
    name: &'static str,
    inserter: Box<dyn Inserter + 'p>,
    /// Whether it counts: such an instrument has something to do in methods that are not selected, too.
    counts: bool,
    /// Whether the current method does without.
    idle: bool,
}

/// Rewrites a class. Its methods get the ids from `first` on, in their order.
pub fn rewrite(
    class: &ClassFile<'_>,
    plan: &Plan,
    first: u32,
    known: &dyn Known,
) -> Result<Rewritten, EditError> {
    let untouchable = untouchable(class.name());
    let probes = Probes::new(plan);
    let mut workers: Vec<Worker<'_>> = plan
        .instruments()
        .map(|(instrument, counts)| Worker {
            name: instrument.name(),
            inserter: instrument.inserter(class, plan, known),
            counts,
            idle: false,
        })
        .collect();
    let mut editor = ClassEditor::with_scratch(class, kept::take());
    let mut out = Rewritten::default();
    for method in class.methods() {
        let treatment = Treatment::of(&method, untouchable, plan.hide_once);
        let selected = match treatment {
            Treatment::Leave(_) => continue,
            Treatment::Count if is_empty_finalizer(&method) => continue,
            _ => plan.selection.method(class.name(), method.name()),
        };
        for worker in &mut workers {
            // What hides the methods it calls does so whether or not it is selected.
            let wanted = selected || (worker.counts && treatment.hides());
            worker.idle = !wanted;
        }
        let id = first + method.index() as u32;
        // One that fails does without the method; the others are put in again, into the code as it was.
        while workers.iter().any(|worker| !worker.idle) {
            match edit(&mut editor, &mut workers, &probes, known, &method, (id, treatment, plan.longest)) {
                Ok(Done { shape, is_huge }) => {
                    out.shapes.extend(shape);
                    out.huge.extend(is_huge.then_some(method.index()));
                    break;
                }
                Err((at, error)) => {
                    let Some(worker) = workers.get_mut(at) else { break };
                    worker.idle = true;
                    let why = if worker.counts {
                        error.to_string()
                    } else {
                        format!("without {}: {error}", worker.name)
                    };
                    out.left.push(Left { index: method.index(), of: worker.name, why });
                }
            }
        }
    }
    drop(workers);
    let is_changed = editor.is_changed();
    let (bytes, scratch) = editor.finish();
    kept::keep(scratch);
    out.bytes = is_changed.then(|| bytes.into_owned());
    Ok(out)
}

/// What became of a method.
#[derive(Default)]
struct Done {
    shape: Option<Shape>,
    /// Whether HotSpot compiled it as it was, and would not as it is.
    is_huge: bool,
}

/// Edits a method with all workers that are not idle. On error, whose it is: of the innermost one if all together are
/// too much for the method.
fn edit(
    editor: &mut ClassEditor<'_, '_>,
    workers: &mut [Worker<'_>],
    probes: &Probes,
    known: &dyn Known,
    method: &Method<'_, '_>,
    (id, treatment, longest): (u32, Treatment, Option<u32>),
) -> Result<Done, (usize, EditError)> {
    let innermost = workers.iter().rposition(|worker| !worker.idle).unwrap_or(0);
    let mut code = match editor.edit_method(method.index()) {
        Ok(Some(code)) => code,
        Ok(None) if treatment.hides() => return Ok(Done::default()),
        Ok(None) => return Err((innermost, EditError::BadSnippet("no code"))),
        Err(error) => return Err((innermost, error)),
    };
    let size = code.code().bytes.len();
    if let Some(longest) = longest.filter(|&longest| size <= longest as usize) {
        code.set_size_limit(longest);
    }
    let mut edit =
        MethodEdit { code, id, treatment, probes, shape: None, aside: None, has_sites: false, known };
    for (at, worker) in workers.iter_mut().enumerate().filter(|(_, worker)| !worker.idle) {
        worker.inserter.before(&mut edit).map_err(|error| (at, error))?;
    }
    for (at, worker) in workers.iter_mut().enumerate().rev().filter(|(_, worker)| !worker.idle) {
        worker.inserter.after(&mut edit).map_err(|error| (at, error))?;
    }
    let MethodEdit { code, mut shape, has_sites, .. } = edit;
    if has_sites {
        // Instructions are told apart by their lines, too; and the method has a name, though nothing may count in it.
        let lines = lines(method, code.code(), true);
        shape = Some(match shape {
            Some(shape) => Shape { lines, ..shape },
            None => Shape { id, index: method.index(), lines, ..Shape::default() },
        });
    }
    let mut is_huge = false;
    if !code.is_unchanged() {
        let edited = code.finish().map_err(|error| (innermost, error))?;
        is_huge = edited.old_size <= LONGEST_COMPILED && edited.new_size > LONGEST_COMPILED;
    }
    Ok(Done { shape, is_huge })
}

/// An empty `finalize()` means to the VM that the class has no finalizer; with code in it, every instance gets one.
fn is_empty_finalizer(method: &Method<'_, '_>) -> bool {
    method.name() == b"finalize"
        && method.descriptor() == b"()V"
        && method.code().ok().flatten().is_some_and(|code| code.bytes.len() == 1)
}
