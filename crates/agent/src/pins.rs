//! Deterministic mode: what makes two runs of the JDK itself differ is set to a constant.
//!
//! Only what reaches counts is touched. The flags that go with it (identity hash codes, shortcuts of the JIT) must be
//! given when the VM starts; `quipu run --deterministic` does.

use std::ffi::CStr;
use std::sync::OnceLock;

use quipu_classfile::opcode::{LCONST_1, NOP};
use quipu_classfile::{ClassEditor, ClassFile, EditError, Snippet};
use quipu_jvm::hotspot::IdentityHashes;
use quipu_jvm::{Class, Env, Object, Result, sys};

use crate::events::Listener;
use crate::intrinsics;
use crate::listeners;
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
    intrinsics::note(session);
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
    // Before JDK 16, one number for both.
    if let Ok(salt) = env.static_field(class, c"SALT", c"I") {
        // SAFETY: a static field of this class, with this type.
        unsafe { env.set_static_int(class, salt, SALT as i32) };
        return Ok(());
    }
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

/// What threads to come start from.
fn seed_new_threads(env: &Env<'_>, seed: i64) -> Result<()> {
    let class = env.find_class(c"java/util/concurrent/ThreadLocalRandom")?;
    let seeder = env.static_field(class, c"seeder", ATOMIC)?;
    let probes =
        env.static_field(class, c"probeGenerator", c"Ljava/util/concurrent/atomic/AtomicInteger;")?;
    // SAFETY: the fields' types are the ones just asked for; an AtomicInteger and its own field.
    unsafe {
        set_atomic(env, env.static_object(class, seeder), seed)?;
        if let Some(probes) = env.static_object(class, probes) {
            let value = env.field(env.class_of(probes)?, c"value", c"I")?;
            env.set_int_field(probes, value, seed as i32);
        }
    }
    let splittable = env.find_class(c"java/util/SplittableRandom")?;
    let field = env.static_field(splittable, c"defaultGen", ATOMIC)?;
    // SAFETY: as above.
    set_atomic(env, unsafe { env.static_object(splittable, field) }, seed)
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
const SEEDED_BY_CLOCK: [&[u8]; 3] =
    [b"java/util/ImmutableCollections", b"java/util/Random", b"jdk/internal/util/random/RandomSupport"];

/// What gives the time.
const CLOCKS: [&[u8]; 2] = [b"nanoTime", b"currentTimeMillis"];

/// The system's random numbers, and what gives them out.
const SYSTEMS_RANDOM: [&[u8]; 3] = [
    b"sun/security/provider/NativePRNG",
    b"sun/security/provider/NativePRNG$Blocking",
    b"sun/security/provider/NativePRNG$NonBlocking",
];
const DRAWS: (&[u8], &[u8]) = (b"engineNextBytes", b"([B)V");

/// What names temporary files by random numbers. With the same in each run, names would meet what earlier runs left behind.
const TEMPORARY: [&[u8]; 2] = [b"java/nio/file/TempFileHelper", b"java/io/File$TempDirectory"];

/// A class that makes counts differ, changed so that it does not; `None` for all others.
pub fn pinned(session: &Session, class: &ClassFile<'_>) -> Option<Vec<u8>> {
    without_clock(class).or_else(|| {
        // In tests only, where no secrets are made: what they draw is predictable then.
        if !listeners::are_ready() || session.options().tests.is_none() {
            return None;
        }
        match class.name() {
            name if SYSTEMS_RANDOM.contains(&name) => with_chance_of_tests(class).ok(),
            name if TEMPORARY.contains(&name) => with_other_names(class).ok(),
            b"java/lang/Class" => {
                let ordered = with_order(class).ok()?;
                session.note("pin.reflection", "order of methods and constructors");
                Some(ordered)
            }
            _ => None,
        }
    })
}

/// What a class gets from a method, and what of `java.quipu` it is passed through before the class goes on with it.
struct Through {
    called: &'static [u8],
    owner: &'static [u8],
    name: &'static [u8],
    descriptor: &'static [u8],
}

/// Temporary files with names that no other run has, and as many letters.
fn with_other_names(class: &ClassFile<'_>) -> std::result::Result<Vec<u8>, EditError> {
    passed_through(
        class,
        &[Through {
            called: b"nextLong",
            owner: b"java/quipu/Tests",
            name: b"temporary",
            descriptor: b"(J)J",
        }],
    )
}

/// Reflection that lists methods and constructors in an order of their own, and not in that of addresses. (Fields are listed
/// as they are declared.)
fn with_order(class: &ClassFile<'_>) -> std::result::Result<Vec<u8>, EditError> {
    const OWNER: &[u8] = b"java/quipu/Reflected";
    passed_through(
        class,
        &[
            Through {
                called: b"getDeclaredMethods0",
                owner: OWNER,
                name: b"methods",
                descriptor: b"([Ljava/lang/reflect/Method;)[Ljava/lang/reflect/Method;",
            },
            Through {
                called: b"getDeclaredConstructors0",
                owner: OWNER,
                name: b"constructors",
                descriptor: b"([Ljava/lang/reflect/Constructor;)[Ljava/lang/reflect/Constructor;",
            },
        ],
    )
}

fn passed_through(class: &ClassFile<'_>, through: &[Through]) -> std::result::Result<Vec<u8>, EditError> {
    let mut editor = ClassEditor::new(class);
    for method in class.methods() {
        let Ok(Some(code)) = method.code() else { continue };
        let behind = |wanted: &Through| -> Vec<u32> {
            let calls = code.instructions().flatten().filter(|instruction| {
                let called = instruction.pool_index().and_then(|index| class.pool().member(index).ok());
                called.is_some_and(|called| called.name == wanted.called)
            });
            calls.map(|instruction| instruction.end()).collect()
        };
        let places: Vec<(&Through, Vec<u32>)> =
            through.iter().map(|wanted| (wanted, behind(wanted))).collect();
        let mut snippets = Vec::new();
        for (wanted, places) in &places {
            if !places.is_empty() {
                let replace = editor.pool().method_ref(wanted.owner, wanted.name, wanted.descriptor)?;
                let mut snippet = Snippet::new();
                snippet.invokestatic(replace, wanted.descriptor);
                snippets.extend(places.iter().map(|at| (*at, snippet.clone())));
            }
        }
        if snippets.is_empty() {
            continue;
        }
        if let Some(mut code) = editor.edit_method(method.index())? {
            for (at, snippet) in &snippets {
                code.insert_before(*at, snippet)?;
            }
            code.finish()?;
        }
    }
    Ok(editor.into_bytes().into_owned())
}

/// The system's random numbers with such as depend on the test.
fn with_chance_of_tests(class: &ClassFile<'_>) -> std::result::Result<Vec<u8>, EditError> {
    let mut editor = ClassEditor::new(class);
    let replace = editor.pool().method_ref(b"java/quipu/Tests", b"chance", b"([B)V")?;
    for method in class.methods().filter(|method| (method.name(), method.descriptor()) == DRAWS) {
        if let Some(mut code) = editor.edit_method(method.index())? {
            let mut snippet = Snippet::new();
            snippet.aload(1).invokestatic(replace, b"([B)V");
            code.insert_before_returns(&snippet)?;
            code.finish()?;
        }
    }
    Ok(editor.into_bytes().into_owned())
}

/// Such a class with a constant instead; `None` for all others. The first one has made the tables of the module system
/// long before the VM is up and [`pin`] can do anything.
fn without_clock(class: &ClassFile<'_>) -> Option<Vec<u8>> {
    if !SEEDED_BY_CLOCK.contains(&class.name()) {
        return None;
    }
    let mut pinned = None;
    for code in class.methods().filter_map(|method| method.code().ok()?) {
        for instruction in code.instructions().flatten() {
            let called = instruction.pool_index().and_then(|index| class.pool().member(index).ok());
            if called.is_some_and(|called| CLOCKS.contains(&called.name)) {
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
    let _ = seed_new_threads(env, seed.cast_signed());
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
        // With 0, the seed would be drawn anew.
        env.set_int_field(thread, env.field(class, c"threadLocalRandomProbe", c"I")?, seed as i32 | 1);
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
