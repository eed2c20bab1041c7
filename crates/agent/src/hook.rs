//! The class-load hook: every class that is loaded or retransformed passes here.

use std::time::Instant;

use quipu_arena::layout::header;
use quipu_classfile::ClassFile;
use quipu_jvm::Object;
use quipu_rewrite::rewrite;

use crate::session::Session;

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
    if !session.plan.touches(class.name()) {
        return None;
    }
    let changed = transform_parsed(session, session.loader(loader), &class);
    session.spent(began.elapsed().as_nanos());
    changed
}

fn transform_parsed(session: &Session, loader: u32, class: &ClassFile<'_>) -> Option<Vec<u8>> {
    let leave = |why: &str| {
        session.leave(class.name(), why);
        session.count(header::CLASSES_LEFT, 1);
    };
    let Some(first) = session.registry.reserve(loader, class.name(), class.methods().len() as u32) else {
        leave("the table of methods is full");
        return None;
    };
    let rewritten = match rewrite(class, &session.plan, first, session) {
        Ok(rewritten) => rewritten,
        Err(error) => {
            leave(&error.to_string());
            return None;
        }
    };
    for left in &rewritten.left {
        let Some(method) = class.method(left.index) else { continue };
        let what = [class.name(), b".", method.name(), method.descriptor()].concat();
        session.leave(&what, &left.why);
        session.count(header::METHODS_LEFT, 1);
    }
    let bytes = rewritten.bytes?;
    if !session.registry.enter(&session.arena, loader, class, first, &rewritten.shapes) {
        leave("its methods changed shape, or the arena is full");
        return None;
    }
    session.count(header::CLASSES, 1);
    session.count(header::METHODS, rewritten.shapes.len() as u64);
    Some(bytes)
}
