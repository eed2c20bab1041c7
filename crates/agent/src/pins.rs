//! Deterministic mode: what makes two runs of the JDK itself differ is set to a constant.
//!
//! Only what reaches counts is touched. The flags that go with it (identity hash codes, shortcuts of the JIT) must be
//! given when the VM starts; `quipu run --deterministic` does.

use quipu_jvm::{Class, Env, Object, Result};

use crate::session::Session;

/// An odd constant, so that neither half of the order of `Map.of` is favoured by a zero.
const SALT: i64 = 0x243F_6A88;
const SEED: i64 = 0x2545_F491_4F6C_DD1D;

/// Pins what can be pinned and notes it; what is not there in this JDK is left out.
pub fn pin(session: &Session, env: &Env<'_>) {
    if pin_immutable_collections(env).is_ok() {
        session.note("pin.Map.of and Set.of", "iteration order");
    }
    if pin_thread_local_random(env).is_ok() {
        session.note("pin.ThreadLocalRandom", "seed");
    }
    env.clear_exception();
}

/// Iteration order of `Map.of` and `Set.of`. Lookup does not use the salt, so existing collections stay intact.
fn pin_immutable_collections(env: &Env<'_>) -> Result<()> {
    let class = env.find_class(c"java/util/ImmutableCollections")?;
    let salt = env.static_field(class, c"SALT32L", c"J")?;
    let reverse = env.static_field(class, c"REVERSE", c"Z")?;
    // SAFETY: both are static fields of this class, with these types.
    unsafe {
        env.set_static_long(class, salt, SALT);
        env.set_static_boolean(class, reverse, false);
    }
    Ok(())
}

/// Seeds of `ThreadLocalRandom`, from which `ConcurrentHashMap` and `ForkJoinPool` take theirs too.
fn pin_thread_local_random(env: &Env<'_>) -> Result<()> {
    let class: Class<'_> = env.find_class(c"java/util/concurrent/ThreadLocalRandom")?;
    let field = env.static_field(class, c"seeder", c"Ljava/util/concurrent/atomic/AtomicLong;")?;
    // SAFETY: the field's type is the one just asked for.
    let Some(seeder): Option<Object<'_>> = (unsafe { env.static_object(class, field) }) else {
        return Ok(());
    };
    let atomic = env.find_class(c"java/util/concurrent/atomic/AtomicLong")?;
    let value = env.field(atomic, c"value", c"J")?;
    // SAFETY: an AtomicLong and its own field.
    unsafe { env.set_long_field(seeder, value, SEED) };
    Ok(())
}
