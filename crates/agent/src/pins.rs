//! Deterministic mode: what makes two runs of the JDK itself differ is set to a constant.
//!
//! Only what reaches counts is touched. The flags that go with it (identity hash codes, shortcuts of the JIT) must be
//! given when the VM starts; `quipu run --deterministic` does.

use std::ffi::CStr;
use std::sync::OnceLock;

use quipu_classfile::ClassFile;
use quipu_classfile::opcode::{LCONST_1, NOP};
use quipu_jvm::hotspot::IdentityHashes;
use quipu_jvm::{Class, Env, Object, Result, sys};

use crate::events::Listener;
use crate::session::Session;

/// An odd constant, so that neither half of the order of `Map.of` is favoured by a zero.
const SALT: i64 = 0x243F_6A88;
const ATOMIC: &CStr = c"Ljava/util/concurrent/atomic/AtomicLong;";
const SEED: i64 = 0x2545_F491_4F6C_DD1D;

/// Pins what can be pinned and notes it; what is not there in this JDK is left out.
pub fn pin(session: &Session, env: &Env<'_>) {
    if pin_immutable_collections(env).is_ok() {
        session.note("pin.Map.of and Set.of", "iteration order");
    }
    if pin_thread_local_random(env).is_ok() {
        session.note("pin.ThreadLocalRandom", "seed");
    }
    let _ = pin_classes(session, env);
    env.clear_exception();
    begin_at(session, env, &["VM"]);
}

/// Identity hash codes that are one sequence go on from a multiple of this: more than are given before the program runs.
const ROUND: i32 = 1 << 12;

/// The program begins: whatever was hashed so far, its objects get the same identity hash codes. No Java code runs here.
pub fn begin_hashing(session: &Session, env: &mut Env<'_>) {
    match HASHES.get().filter(|_| session.options().deterministic) {
        Some(Some(hashes)) => _ = hashes.seed(env, seed(b"VM".iter())),
        // What the VM does not give is left as it is.
        Some(None) => _ = round_up(session, env),
        None => {}
    }
}

/// Lets a sequence of identity hash codes go on from a round number; other codes it leaves alone.
fn round_up(session: &Session, env: &mut Env<'_>) -> Result<()> {
    let mut next = || env.with_frame(1, |env| session.jvmti.object_hash_code(env.new_text("")?))?;
    let (first, mut hash) = (next()?, next()?);
    let is_sequence = hash == first.wrapping_add(1);
    while is_sequence && hash % ROUND != 0 {
        hash = next()?;
    }
    Ok(())
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
    let class = env.find_class(c"java/util/concurrent/ThreadLocalRandom")?;
    let field = env.static_field(class, c"seeder", ATOMIC)?;
    // SAFETY: the field's type is the one just asked for.
    set_atomic(env, unsafe { env.static_object(class, field) }, SEED)
}

/// # Errors
/// The VM's.
fn set_atomic(env: &Env<'_>, atomic: Option<Object<'_>>, value: i64) -> Result<()> {
    let Some(atomic) = atomic else { return Ok(()) };
    let field = env.field(env.class_of(atomic)?, c"value", c"J")?;
    // SAFETY: an AtomicLong and its own field.
    unsafe { env.set_long_field(atomic, field, value) };
    Ok(())
}

/// Classes that take the time for a random number.
const SEEDED_BY_CLOCK: [&[u8]; 2] = [b"java/util/ImmutableCollections", b"java/util/Random"];

/// Such a class with a constant instead; `None` for all others. The first one has made the tables of the module system
/// long before the VM is up and [`pin`] can do anything.
pub fn without_clock(class: &ClassFile<'_>) -> Option<Vec<u8>> {
    if !SEEDED_BY_CLOCK.contains(&class.name()) {
        return None;
    }
    let mut pinned = None;
    for code in class.methods().filter_map(|method| method.code().ok()?) {
        for instruction in code.instructions().flatten() {
            let called = instruction.pool_index().and_then(|index| class.pool().member(index).ok());
            if called.is_some_and(|called| called.name == b"nanoTime") {
                let at = instruction.bytes().as_ptr() as usize - class.bytes().as_ptr() as usize;
                let bytes = pinned.get_or_insert_with(|| class.bytes().to_vec());
                bytes.get_mut(at..at + 3)?.copy_from_slice(&[LCONST_1, NOP, NOP]);
            }
        }
    }
    pinned
}

/// Where threads have the state of their hash codes, if they have one.
static HASHES: OnceLock<Option<IdentityHashes>> = OnceLock::new();

/// Gives a class the hash code that goes with its name. Classes last, and many a table has them for keys: those which a
/// test was the first to hash would carry whatever differs in it into other tests.
pub fn class_prepared(session: &Session, env: &Env<'_>, class: Class<'_>) {
    let (Some(Some(hashes)), Ok(name)) = (HASHES.get(), session.jvmti.class_signature(class)) else { return };
    // Behind a dot, hidden classes have an address.
    let name = name.as_bytes().split(|byte| *byte == b'.').next();
    let before = hashes.seed(env, seed(name.into_iter().flatten()));
    let _ = session.jvmti.object_hash_code(class);
    hashes.replace(env, before);
}

/// The same for all that are there, and for those to come.
fn pin_classes(session: &Session, env: &Env<'_>) -> Result<()> {
    let hashes = IdentityHashes::find(env, session.jvmti)?;
    if HASHES.get_or_init(|| hashes).is_some() {
        session.listen(Listener::Pins, sys::JVMTI_EVENT_CLASS_PREPARE, true)?;
        for class in session.jvmti.loaded_classes(env)? {
            class_prepared(session, env, class);
        }
    }
    Ok(())
}

/// Lets random numbers and identity hash codes on the current thread go on from a point that has a name: whatever was
/// drawn or hashed before it, what comes after it gets the same. Each test has another name, so that objects which
/// different tests leave behind do not all have the same code, and names made of random numbers stay different.
pub fn begin_at(session: &Session, env: &Env<'_>, name: &[&str]) {
    if !session.options().deterministic {
        return;
    }
    let seed = seed(name.iter().flat_map(|part| part.as_bytes()));
    // What is not there in this JDK is left as it is.
    let _ = seed_random(session, env, seed.cast_signed());
    env.clear_exception();
    if let Some(Some(hashes)) = HASHES.get() {
        hashes.seed(env, seed);
    }
}

/// Fowler, Noll and Vo's hash.
fn seed<'a>(name: impl Iterator<Item = &'a u8>) -> u64 {
    name.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

fn seed_random(session: &Session, env: &Env<'_>, seed: i64) -> Result<()> {
    // SAFETY: in each case the object or class has the field, with this type.
    unsafe {
        let thread = session.jvmti.current_thread(env)?;
        let class = env.find_class(c"java/lang/Thread")?;
        env.set_long_field(thread, env.field(class, c"threadLocalRandomSeed", c"J")?, seed);
        // Skip lists have their own; 0 is none yet.
        env.set_int_field(
            thread,
            env.field(class, c"threadLocalRandomSecondarySeed", c"I")?,
            seed as i32 | 1,
        );
        let random = env.find_class(c"java/util/Random")?;
        let field = env.static_field(random, c"seedUniquifier", ATOMIC)?;
        // It is multiplied.
        set_atomic(env, env.static_object(random, field), seed | 1)?;
        // Made anew when it is needed next.
        let collections = env.find_class(c"java/util/Collections")?;
        let field = env.static_field(collections, c"r", c"Ljava/util/Random;")?;
        env.set_static_object(collections, field, None);
        let holder = env.find_class(c"java/lang/Math$RandomNumberGeneratorHolder")?;
        let field = env.static_field(holder, c"randomNumberGenerator", c"Ljava/util/Random;")?;
        let Some(math) = env.static_object(holder, field) else { return Ok(()) };
        let field = env.field(random, c"seed", ATOMIC)?;
        // Random numbers have 48 bits.
        set_atomic(env, env.object_field(math, field), seed >> 16)
    }
}

/// Threads of the VM's own, and such as are on their way out and have no name any more. How far they come before the program
/// ends is a matter of timing.
const JVMS_OWN: [&[u8]; 10] = [
    b"?",
    b"Attach Listener",
    b"Common-Cleaner",
    b"DestroyJavaVM",
    b"Finalizer",
    b"Monitor Deflation Thread",
    b"Notification Thread",
    b"Reference Handler",
    b"Service Thread",
    b"Signal Dispatcher",
];

/// Whether what a thread of this name does differs from run to run, and is not the program's doing.
pub fn is_jvms_own(name: &[u8]) -> bool {
    JVMS_OWN.contains(&name)
}
