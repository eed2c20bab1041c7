//! Deterministic runs keep the string constants of the classes that are loaded when everything is rewritten.
//!
//! A string remembers its hash code. Rewritten classes have new constant pools in which nothing is resolved, so nobody but the VM's
//! table of strings, which is weak, has their constants until they are asked for again: if the collector comes first, they are
//! made anew, and hashed once more.

use std::sync::atomic::{AtomicBool, Ordering};

use quipu_jvm::{Env, Result, sys};

use crate::session::Session;

/// What tells classes and objects apart during the walk: loaders have positive numbers.
const STRINGS: i64 = i64::MIN;
const CONSTANT: i64 = i64::MIN + 1;

/// Keeps those that there are, once.
pub fn keep(session: &Session, env: &mut Env<'_>) {
    static KEPT: AtomicBool = AtomicBool::new(false);
    if !session.options().deterministic || KEPT.swap(true, Ordering::AcqRel) {
        return;
    }
    // What the VM does not give stays as it is.
    if let Ok(Ok(())) = env.with_frame(16, |env| keep_resolved(session, env)) {
        session.note("pin.string constants", "hash codes");
    }
}

fn keep_resolved(session: &Session, env: &mut Env<'_>) -> Result<()> {
    let jvmti = session.jvmti;
    let class = env.find_class(c"java/lang/String")?;
    jvmti.set_tag(class, STRINGS)?;
    let walked = jvmti.follow_references(&mut |reference| {
        if reference.kind == sys::JVMTI_HEAP_REFERENCE_CONSTANT_POOL && reference.class_tag == STRINGS {
            reference.set_tag(CONSTANT);
        }
        true
    });
    jvmti.set_tag(class, 0)?;
    walked?;
    let constants = jvmti.objects_with_tag(env, CONSTANT)?;
    let object = env.find_class(c"java/lang/Object")?;
    let kept = env.new_array(object, constants.len())?;
    for (at, constant) in constants.iter().enumerate() {
        jvmti.set_tag(*constant, 0)?;
        env.array_set(kept, at, Some(*constant))?;
    }
    // Not given back, for as long as the VM lives.
    env.new_global(kept).map(drop)
}
