//! What makes two runs of the JDK differ, set to the constants that `--deterministic` sets it to, in the same way.

use quipu_jvm::{Env, Result};

const SALT: i64 = 0x243F_6A88;
const SEED: i64 = 0x2545_F491_4F6C_DD1D;

/// Pins the iteration order of `Map.of` and `Set.of`, and the seeds of `ThreadLocalRandom`.
pub fn pin(env: &Env<'_>) -> Result<()> {
    // JDK 8 has no such collections, and JDKs before 16 one number for both.
    if let Ok(class) = env.find_class(c"java/util/ImmutableCollections") {
        // SAFETY: these are static fields of this class, with these types.
        unsafe {
            match env.static_field(class, c"SALT", c"I") {
                Ok(salt) => env.set_static_int(class, salt, SALT as i32),
                Err(_) => {
                    env.set_static_long(class, env.static_field(class, c"SALT32L", c"J")?, SALT);
                    env.set_static_boolean(class, env.static_field(class, c"REVERSE", c"Z")?, false);
                }
            }
        }
    }
    let class = env.find_class(c"java/util/concurrent/ThreadLocalRandom")?;
    let seeder = env.static_field(class, c"seeder", c"Ljava/util/concurrent/atomic/AtomicLong;")?;
    // SAFETY: the field's type is the one just asked for.
    let Some(seeder) = (unsafe { env.static_object(class, seeder) }) else { return Ok(()) };
    let value = env.field(env.find_class(c"java/util/concurrent/atomic/AtomicLong")?, c"value", c"J")?;
    // SAFETY: an AtomicLong and its own field.
    unsafe { env.set_long_field(seeder, value, SEED) };
    Ok(())
}
