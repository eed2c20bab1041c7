//! The class-load hook: every class that is loaded or retransformed passes here.

use std::time::Instant;

use quipu_arena::layout::{header, stack};
use quipu_classfile::ClassFile;
use quipu_jvm::{Env, Object};
use quipu_rewrite::{Plan, Timed, kept, rewrite};

use crate::bytecodes;
use crate::calibration;
use crate::engines::root;
use crate::not_included;
use crate::pins;
use crate::registry::Entered;
use crate::session::Session;
use crate::thread_field::{self, Field};

/// What [`Session::loader`] says of the boot loader.
const BOOT_LOADER: u32 = 0;

/// The new bytes of a class, or `None` to leave it as it is.
pub fn transform(
    session: &Session,
    env: Option<&Env<'_>>,
    loader: Option<Object<'_>>,
    bytes: &[u8],
) -> Option<Vec<u8>> {
    let began = Instant::now();
    let class = match kept::parse(bytes) {
        Ok(class) => class,
        Err(error) => {
            // Not our business: the VM will say what is wrong with it.
            session.leave(b"a class that cannot be parsed", &error.to_string());
            session.count(header::CLASSES_LEFT, 1);
            return None;
        }
    };
    if session.options().deterministic
        && let Some(pinned) = pins::pinned(session, &class)
    {
        let rewritten =
            ClassFile::parse(&pinned).ok().and_then(|class| transform_class(session, env, loader, class));
        session.spent(began.elapsed().as_nanos());
        return rewritten.or(Some(pinned));
    }
    let changed = transform_class(session, env, loader, class);
    session.spent(began.elapsed().as_nanos());
    changed
}

/// The new bytes of a class that was parsed, and changed where that was called for.
fn transform_class(
    session: &Session,
    env: Option<&Env<'_>>,
    loader: Option<Object<'_>>,
    class: ClassFile<'_>,
) -> Option<Vec<u8>> {
    session.world.learn(&class);
    session.presumed.learned(session, class.name());
    if class.name() == thread_field::CLASS && session.is_early() {
        let plan = session.plan().filter(|plan| plan.touches(class.name()));
        let rewritten = plan.and_then(|plan| transform_parsed(session, &plan.for_jdk(), BOOT_LOADER, &class));
        return with_thread_field(session, rewritten.as_deref().unwrap_or(class.bytes()));
    }
    let plan = session.plan()?;
    if let Some(plan) = calibration::plan_of(class.name(), &plan) {
        return transform_parsed(session, &plan, BOOT_LOADER, &class);
    }
    let is_below_root = root::learn(session, &class);
    if !is_below_root && plan.is_only_timed() {
        return None;
    }
    if !plan.touches(class.name()) {
        if plan.selection.is_limited() {
            not_included::add(class.name());
        }
        return None;
    }
    let number = session.loader(loader);
    if number == Session::AGENT_LOADER {
        return None;
    }
    let changed = if plan.differs_for_jdk() && is_jdks(session, env, loader) {
        transform_parsed(session, &plan.for_jdk(), number, &class)
    } else {
        transform_parsed(session, &plan, number, &class)
    };
    kept::keep_lists(class);
    changed
}

/// The loaders of the JDK's own classes, beside the boot loader: since JDK 9, and before.
const JDK_LOADERS: [&[u8]; 2] =
    [b"Ljdk/internal/loader/ClassLoaders$PlatformClassLoader;", b"Lsun/misc/Launcher$ExtClassLoader;"];

/// Whether a loader's classes are the JDK's and not the application's.
fn is_jdks(session: &Session, env: Option<&Env<'_>>, loader: Option<Object<'_>>) -> bool {
    let Some(loader) = loader else { return true };
    let class = env.and_then(|env| env.class_of(loader).ok());
    let signature = class.and_then(|class| session.jvmti.class_signature(class).ok());
    signature.is_some_and(|signature| JDK_LOADERS.contains(&signature.as_bytes()))
}

/// `Thread` as it must always look in this VM: the field is there or not from the first time on.
fn with_thread_field(session: &Session, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut fields = vec![
        Field::slot(session.arena.address(header::NEW_THREAD) as i64),
        Field::top(bytecodes::nowhere()),
        Field::left(stack::ENDLESS.cast_signed()),
    ];
    if session.has_tallies() {
        fields.push(Field::tally(session.unread_tally()? as i64));
    }
    let changed = thread_field::add(bytes, &fields).ok()??;
    session.set_direct();
    Some(changed)
}

fn transform_parsed(session: &Session, plan: &Plan, loader: u32, class: &ClassFile<'_>) -> Option<Vec<u8>> {
    let leave = |why: &str| {
        session.leave(class.name(), why);
        session.count(header::CLASSES_LEFT, 1);
        root::failed(class.name(), None, why);
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
            Entered::Yes if plan.tallies() && !session.arena.cover(session.registry.next_method()) => {
                leave("the tallies have no room for its methods");
                return None;
            }
            Entered::Yes => break rewritten,
            // It was rewritten before, with other options: its nodes have another size now.
            Entered::OtherShapes(had) => first = had.or_else(|| session.registry.reserve_anew(count)),
            Entered::Full => {
                leave("the arena is full");
                session.count(header::REFUSED, 1);
                return None;
            }
        }
    };
    for left in &rewritten.left {
        let Some(method) = class.method(left.index) else { continue };
        let what = [class.name(), b".", method.name(), method.descriptor()].concat();
        session.leave(&what, &left.why);
        session.count(header::METHODS_LEFT, 1);
        if left.of == Timed::NAME {
            root::failed(class.name(), Some(&[method.name(), method.descriptor()].concat()), &left.why);
        }
    }
    let bytes = rewritten.bytes?;
    session.count(header::CLASSES, 1);
    session.count(header::METHODS, rewritten.shapes.len() as u64);
    Some(bytes)
}
