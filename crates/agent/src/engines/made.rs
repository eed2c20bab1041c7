//! Everything that is made, counted where code makes it. `docs/kinds/alloc.md` says what that is.
//!
//! Instances are counted; how large they are is told once for each class, when it is loaded.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use quipu_arena::layout::detail;
use quipu_arena::record::Record;
use quipu_jvm::hotspot::{Library, Structs, SwitchFlag};
use quipu_jvm::jni::kind;
use quipu_jvm::sys::jvmtiFrameInfo;
use quipu_jvm::{Class, Env, Error, Global, Jvm, MethodId, Thread, sys};
use quipu_kinds::Kind;
use quipu_rewrite::{Allocations, Instrument};

use crate::classes;
use crate::dialect;
use crate::events::Listener;
use crate::options::Options;
use crate::session::Session;
use crate::sites;
use crate::stacks::metrics::{self, Declared};
use crate::start;

/// The runtime's class, and what is called in it.
struct Runtime {
    class: Global<kind::Class>,
    /// How large instances of a class are.
    instance: MethodId,
}

static RUNTIME: OnceLock<Runtime> = OnceLock::new();
static ON: AtomicBool = AtomicBool::new(false);

/// Ways of the JIT to do without code that makes objects, and counts them: it does without the objects, or makes them itself, as it
/// does with the digits of a product.
const SHORT_CUTS: [&CStr; 3] = [c"EliminateAutoBox", c"OptimizeStringConcat", c"UseMultiplyToLenIntrinsic"];

/// Those that were on, a bit for each.
static CUT: AtomicU8 = AtomicU8::new(0);

/// Whether everything is counted.
pub fn is_on() -> bool {
    ON.load(Ordering::Acquire)
}

/// What is inserted, and all that it needs.
pub fn instrument(
    session: &'static Session,
    env: &mut Env<'_>,
    kind: &'static Kind,
) -> Result<Arc<dyn Instrument>, Error> {
    declare(session, kind);
    define(session, env)?;
    if !ON.swap(true, Ordering::AcqRel) {
        cut_short(session.vm, true);
        session.listen(Listener::Allocation, sys::JVMTI_EVENT_CLASS_LOAD, true)?;
        env.with_frame(64, |env| {
            for class in session.jvmti.loaded_classes(env)? {
                tell_size(session, env, class);
            }
            Ok(())
        })
        .and_then(|told| told)?;
        session.note("kind", kind.name());
    }
    Ok(Arc::new(Allocations))
}

/// Begins.
pub fn start(
    session: &'static Session,
    env: &mut Env<'_>,
    options: &Options,
    kind: &'static Kind,
) -> Result<(), String> {
    let begun = start::prepare(session, env)
        .and_then(|()| instrument(session, env, kind))
        .and_then(|instrument| start::insert(session, env, options, instrument));
    begun.map_err(|e| e.to_string())
}

/// Ends.
pub fn stop(session: &'static Session, env: &mut Env<'_>) -> Result<(), String> {
    if !ON.swap(false, Ordering::AcqRel) {
        return Ok(());
    }
    let silent = session.listen(Listener::Allocation, sys::JVMTI_EVENT_CLASS_LOAD, false);
    let out = start::take_out(session, env, Allocations::NAME);
    cut_short(session.vm, false);
    silent.and(out).map_err(|e| e.to_string())
}

/// Tells the arena what is measured, and rewritten code what its sites are of.
fn declare(session: &Session, kind: &'static Kind) {
    if let [bytes, count, ..] = kind.metrics {
        let declared = Declared { count: count.name, ..Declared::of(bytes, 0) };
        let metric = metrics::declare(&session.arena, &declared);
        session.sites.measure(Allocations::NAME, sites::Kind { metric, detail: detail::ALLOCATED });
    }
}

/// Tells how large instances of a class are that was loaded.
pub fn tell_size(session: &Session, env: &Env<'_>, class: Class<'_>) {
    let Some(runtime) = RUNTIME.get() else { return };
    if session.jvmti.is_array(class).unwrap_or(true) {
        return;
    }
    let Ok(signature) = session.jvmti.class_signature(class) else { return };
    // SAFETY: the method takes a class and returns a number.
    let size = unsafe {
        env.call_static_int(runtime.class.get(), runtime.instance, &[sys::jvalue { l: class.raw() }])
    };
    env.clear_exception();
    let Some(bytes) = size.ok().and_then(|size| u32::try_from(size).ok()).filter(|&bytes| bytes > 0) else {
        return;
    };
    let loader = session.jvmti.class_loader(env, class).map_or(0, |loader| session.loader(loader));
    // A full arena has no room for what is made either.
    let _ = session.arena.log(&Record::ClassSize { loader, bytes, name: signature.as_bytes() });
}

/// Native methods whose results are counted where they are called. In JDK 8, what reflection makes is made by one, too.
const COUNTED: [&[u8]; 7] = [
    b"clone",
    b"newArray",
    b"multiNewArray",
    b"allocateInstance",
    b"allocateUninitializedArray0",
    b"newInstance0",
    b"newInstance",
];

/// Whether native code of a library, or of the VM on behalf of one, has just made something on the current thread.
pub fn is_by_native_code(session: &Session, env: &Env<'_>, thread: Thread<'_>) -> bool {
    const NATIVE: i64 = -1;
    let mut frames = [jvmtiFrameInfo { method: std::ptr::null_mut(), location: 0 }];
    let [frame] = match session.jvmti.stack_trace(Some(thread), 0, &mut frames) {
        Ok(1) => frames,
        _ => return false,
    };
    // SAFETY: the method is on the stack of this thread, so its class is loaded.
    let method = unsafe { MethodId::from_raw(frame.method) };
    let name = session.jvmti.method_name(method);
    env.clear_exception();
    frame.location == NATIVE && name.is_ok_and(|name| !COUNTED.contains(&name.name.as_bytes()))
}

fn define(session: &Session, env: &Env<'_>) -> Result<(), Error> {
    if RUNTIME.get().is_some() {
        return Ok(());
    }
    let mut last = None;
    for (name, bytes) in classes::ALLOC.unpack() {
        last = Some(dialect::define(env, session.jvmti, name, &bytes)?);
    }
    let Some(class) = last else { return Ok(()) };
    // Looking a method up initialises the class: instrumented code must never be the first to do so.
    let instance = env.static_method(class, c"instance", c"(Ljava/lang/Class;)I")?;
    let class = env.new_global(class)?;
    let _ = RUNTIME.set(Runtime { class, instance });
    Ok(())
}

/// Takes the JIT's ways to do without objects away, or gives those back that were there.
fn cut_short(vm: Jvm, on: bool) {
    let Some(structs) = Library::of(vm).and_then(Structs::of) else { return };
    for (i, name) in SHORT_CUTS.iter().enumerate() {
        let Some(flag) = SwitchFlag::find(&structs, name) else { continue };
        let bit = 1u8 << i;
        // SAFETY: the compilers look at it for each method that they compile, and can do with either.
        unsafe {
            if on && flag.get() {
                CUT.fetch_or(bit, Ordering::AcqRel);
                flag.set(false);
            } else if !on && CUT.fetch_and(!bit, Ordering::AcqRel) & bit != 0 {
                flag.set(true);
            }
        }
    }
}
