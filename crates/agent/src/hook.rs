//! The class-load hook: every class that is loaded or retransformed passes here.

use std::time::Instant;

use quipu_arena::layout::header;
use quipu_classfile::ClassFile;
use quipu_jvm::Object;
use quipu_rewrite::{Plan, rewrite};

use crate::registry::Entered;
use crate::session::Session;
use crate::thread_field;

/// What [`Session::loader`] says of the boot loader.
const BOOT_LOADER: u32 = 0;

/// The new bytes of a class, or `None` to leave it as it is.
pub fn transform(session: &Session, loader: Option<Object<'_>>, bytes: &[u8]) -> Option<Vec<u8>> {
    let began = Instant::now();
    let class = match ClassFile::parse(bytes) {
        Ok(class) => class,
        Err(error) => {
            // Not our business: the VM will say what is wrong with it.
            session.leave(b"a class that cannot be parsed", &error.to_string());
            session.count(header::CLASSES_LEFT, 1);
            return None;
        }
    };
    session.world.learn(&class);
    if class.name() == thread_field::CLASS && session.options.direct {
        let plan = session.plan().filter(|plan| plan.touches(class.name()));
        let rewritten = plan.and_then(|plan| transform_parsed(session, &plan, BOOT_LOADER, &class));
        return with_thread_field(session, rewritten.as_deref().unwrap_or(bytes));
    }
    let plan = session.plan()?;
    if !plan.touches(class.name()) {
        return None;
    }
    let loader = session.loader(loader);
    if loader == Session::AGENT_LOADER {
        return None;
    }
    let changed = transform_parsed(session, &plan, loader, &class);
    session.spent(began.elapsed().as_nanos());
    changed
}

/// `Thread` as it must always look in this VM: the field is there or not from the first time on.
fn with_thread_field(session: &Session, bytes: &[u8]) -> Option<Vec<u8>> {
    let new_thread = session.arena.address(header::NEW_THREAD) as i64;
    let changed = thread_field::add(bytes, new_thread).ok()?;
    session.set_direct();
    Some(changed)
}

fn transform_parsed(session: &Session, plan: &Plan, loader: u32, class: &ClassFile<'_>) -> Option<Vec<u8>> {
    let leave = |why: &str| {
        session.leave(class.name(), why);
        session.count(header::CLASSES_LEFT, 1);
    };
    let count = class.methods().len() as u32;
    let mut first = session.registry.reserve(loader, class.name(), count);
    let rewritten = loop {
        let Some(ids) = first else {
            leave("the table of methods is full");
            return None;
        };
        let rewritten = match rewrite(class, plan, ids, session) {
            Ok(rewritten) => rewritten,
            Err(error) => {
                leave(&error.to_string());
                return None;
            }
        };
        match session.registry.enter(&session.arena, loader, class, ids, &rewritten.shapes) {
            Entered::Yes => break rewritten,
            // It was rewritten before, with other options: its nodes have another size now.
            Entered::OtherShapes => first = session.registry.reserve_anew(count),
            Entered::Full => {
                leave("the arena is full");
                return None;
            }
        }
    };
    for left in &rewritten.left {
        let Some(method) = class.method(left.index) else { continue };
        let what = [class.name(), b".", method.name(), method.descriptor()].concat();
        session.leave(&what, &left.why);
        session.count(header::METHODS_LEFT, 1);
    }
    let bytes = rewritten.bytes?;
    session.count(header::CLASSES, 1);
    session.count(header::METHODS, rewritten.shapes.len() as u64);
    Some(bytes)
}
