//! The runtime's class for roots: `java/runtime/root`.

use std::sync::OnceLock;

use quipu_jvm::jni::kind;
use quipu_jvm::{Env, Error, Global, Jvmti, MethodId, sys};

use crate::classes;
use crate::dialect;

struct Runtime {
    class: Global<kind::Class>,
    calibrate: MethodId,
    open: MethodId,
    prepare: MethodId,
    retire: MethodId,
}

static RUNTIME: OnceLock<Runtime> = OnceLock::new();

/// Defines it, once.
pub fn define(env: &Env<'_>, jvmti: Jvmti) -> Result<(), Error> {
    if RUNTIME.get().is_some() {
        return Ok(());
    }
    for (name, bytes) in classes::ROOT.unpack() {
        let class = dialect::define(env, jvmti, name, &bytes)?;
        // Looking a method up initialises the class: instrumented code must never be the first to do so.
        let calibrate = env.static_method(class, c"calibrate", c"(I)J")?;
        let open = env.static_method(class, c"open", c"(Z)V")?;
        let prepare = env.static_method(class, c"prepare", c"()V")?;
        let retire = env.static_method(class, c"retire", c"()V")?;
        let class = env.new_global(class)?;
        let _ = RUNTIME.set(Runtime { class, calibrate, open, prepare, retire });
    }
    Ok(())
}

/// Whether threads enter roots from now on.
pub fn open(env: &Env<'_>, entered: bool) -> Result<(), Error> {
    let Some(runtime) = RUNTIME.get() else { return Ok(()) };
    // SAFETY: the method takes one boolean and returns nothing.
    unsafe { env.call_static_void(runtime.class.get(), runtime.open, &[sys::jvalue { z: entered }]) }
}

/// A profile begins: what still runs of the code of an earlier one is not part of it.
pub fn prepare(env: &Env<'_>) -> Result<(), Error> {
    call(env, |runtime| runtime.prepare)
}

/// A profile has ended: what still runs of its code takes no times any more.
pub fn retire(env: &Env<'_>) -> Result<(), Error> {
    call(env, |runtime| runtime.retire)
}

fn call(env: &Env<'_>, method: fn(&Runtime) -> MethodId) -> Result<(), Error> {
    let Some(runtime) = RUNTIME.get() else { return Ok(()) };
    // SAFETY: the methods take and return nothing.
    unsafe { env.call_static_void(runtime.class.get(), method(runtime), &[]) }
}

/// What so many calls cost, as the runtime says it.
pub fn calibrate(env: &Env<'_>, calls: i32) -> Option<i64> {
    let runtime = RUNTIME.get()?;
    // SAFETY: the method takes a number and returns one.
    let packed =
        unsafe { env.call_static_long(runtime.class.get(), runtime.calibrate, &[sys::jvalue { i: calls }]) };
    env.clear_exception();
    packed.ok()
}
