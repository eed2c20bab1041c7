//! Where a thread is in the tree of exact counts, or of those below roots. While that runs, each thread has published the slot of the call that it
//! makes, so a sample need not walk the stack: the context is there to be read, and it is the very node that has the
//! counts.
//!
//! A thread's own signal handler reads it through the VM's structures; the wall clock, of a thread that waits, as Java
//! would. What is read is believed only if it is a slot of the arena, and of a tree.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use quipu_arena::writer::ArenaWriter;
use quipu_jvm::hotspot::{Structs, ThreadObjects};
use quipu_jvm::jni::kind;
use quipu_jvm::sys::{self, JNIEnv};
use quipu_jvm::{Env, Error, FieldId, Global, MethodId, Thread};
use quipu_unwind::Memory;

use crate::engines::root::ROOT;
use crate::session::Session;

/// How published slots are found.
struct Published {
    objects: ThreadObjects,
    /// From a thread's environment back to the VM's thread.
    env: usize,
    place: Place,
}

/// Where threads have it.
enum Place {
    /// In a field of their own.
    Field(FieldId),
    /// In their cursor.
    Cursor(Cursors),
}

/// Where cursors are: in an array, by the thread's id.
struct Cursors {
    table: Global<kind::Object>,
    mask: u64,
    first: usize,
    tid: usize,
    owner: usize,
    slot: usize,
    /// `Probe`, and its method that tells it of any thread.
    probe: Global<kind::Class>,
    of: MethodId,
}

/// What slots are published for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    /// Everything that a thread calls.
    Everything = 1,
    /// What it calls below a root.
    Roots = 2,
}

/// How they are found, by what they are for.
static PUBLISHED: [OnceLock<Option<Published>>; 2] = [OnceLock::new(), OnceLock::new()];
/// What they are published for now; 0 for nothing.
static ON: AtomicU8 = AtomicU8::new(0);

/// Whether they are published, or will be.
pub fn is_wanted(session: &Session) -> bool {
    wanted(session).is_some()
}

fn wanted(session: &Session) -> Option<For> {
    if session.plan().is_some_and(|plan| plan.publishes()) {
        return Some(For::Everything);
    }
    ROOT.is_sampled().then_some(For::Roots)
}

/// Methods publish slots from now on if they are rewritten like this. `memory` is safe to look at, and environments are so
/// far from the VM's threads.
pub fn begin(session: &Session, jni: &Env<'_>, structs: &Structs, memory: Memory, env: usize) {
    let Some(wanted) = wanted(session) else { return };
    // Without it, samples walk the stack.
    let found = || Published::new(session, jni, structs, memory, (env, wanted)).ok().flatten();
    let published = of(wanted as u8).and_then(|place| place.get_or_init(found).as_ref());
    jni.clear_exception();
    ON.store(if published.is_some() { wanted as u8 } else { 0 }, Ordering::Release);
}

/// Nothing is instrumented any more.
pub fn end() {
    ON.store(0, Ordering::Release);
}

/// The slot that the thread with this environment has published, as an offset in the arena; `None` if it has none. For
/// signal handlers of that thread.
pub fn slot(arena: &ArenaWriter, env: *mut JNIEnv) -> Option<u64> {
    let published = get().filter(|_| !env.is_null())?;
    let thread = published.objects.current((env as usize).checked_sub(published.env)?)?;
    let slot = match &published.place {
        Place::Field(field) => published.objects.long(thread, field.offset())?,
        Place::Cursor(cursors) => cursors.slot(&published.objects, thread)?,
    };
    arena.slot_in_tree(slot)
}

/// The same of a thread that waits. Not for signal handlers.
pub fn slot_of(arena: &ArenaWriter, env: &Env<'_>, thread: Thread<'_>) -> Option<u64> {
    let slot = match &get()?.place {
        // SAFETY: every thread has that field.
        Place::Field(field) => unsafe { env.long_field(thread, *field) },
        Place::Cursor(cursors) => {
            let arguments = [sys::jvalue { l: thread.raw() }];
            // SAFETY: the method takes one thread and returns a number.
            unsafe { env.call_static_long(cursors.probe.get(), cursors.of, &arguments).ok()? }
        }
    };
    arena.slot_in_tree(slot.cast_unsigned())
}

/// Whether the stacks that samples would be walked to are those that are published, from the thread's first method on.
#[cfg(debug_assertions)]
pub fn is_of_everything() -> bool {
    ON.load(Ordering::Acquire) == For::Everything as u8
}

fn of(wanted: u8) -> Option<&'static OnceLock<Option<Published>>> {
    PUBLISHED.get(usize::from(wanted).checked_sub(1)?)
}

fn get() -> Option<&'static Published> {
    of(ON.load(Ordering::Acquire))?.get()?.as_ref()
}

impl Published {
    fn new(
        session: &Session,
        jni: &Env<'_>,
        structs: &Structs,
        memory: Memory,
        (env, wanted): (usize, For),
    ) -> Result<Option<Published>, Error> {
        let Some(objects) = ThreadObjects::of(structs, jni, memory)? else { return Ok(None) };
        let thread = jni.find_class(c"java/lang/Thread")?;
        let place = if session.is_direct() && wanted == For::Everything {
            Place::Field(jni.field(thread, c"quipuSlot", c"J")?)
        } else {
            let Some(cursors) = Cursors::new(jni, wanted)? else { return Ok(None) };
            Place::Cursor(cursors)
        };
        Ok(Some(Published { objects, env, place }))
    }
}

impl Cursors {
    fn new(env: &Env<'_>, wanted: For) -> Result<Option<Cursors>, Error> {
        let (slot, of) = match wanted {
            For::Everything => (c"slot", c"slotOf"),
            For::Roots => (c"below", c"belowOf"),
        };
        let (thread, cursor) = (env.find_class(c"java/lang/Thread")?, env.find_class(c"java/quipu/Cursor")?);
        let probe = env.find_class(c"java/quipu/Probe")?;
        let table = env.static_field(probe, c"TABLE", c"[Ljava/quipu/Cursor;")?;
        // SAFETY: the field is this class's, and an array of references.
        let (Some(table), Some(first)) = (unsafe { env.static_object(probe, table) }, first_element(env)?)
        else {
            return Ok(None);
        };
        Ok(Some(Cursors {
            // SAFETY: an array.
            mask: (env.array_length(unsafe { table.cast() }) as u64).saturating_sub(1),
            table: env.new_global(table)?,
            first,
            tid: env.field(thread, c"tid", c"J")?.offset(),
            owner: env.field(cursor, c"owner", c"Ljava/lang/Thread;")?.offset(),
            slot: env.field(cursor, slot, c"J")?.offset(),
            of: env.static_method(probe, of, c"(Ljava/lang/Thread;)J")?,
            probe: env.new_global(probe)?,
        }))
    }

    /// For signal handlers.
    fn slot(&self, objects: &ThreadObjects, thread: usize) -> Option<u64> {
        let table = objects.global(self.table.get().raw() as usize)?;
        let bucket = objects.long(thread, self.tid)? & self.mask;
        let cursor = objects.reference(table, self.first, bucket as usize)?;
        let owner = objects.reference(cursor, self.owner, 0)?;
        if owner != thread {
            return None;
        }
        objects.long(cursor, self.slot)
    }
}

/// Where arrays of references have their first element: a number of one size or another, depending on the JDK.
fn first_element(env: &Env<'_>) -> Result<Option<usize>, Error> {
    const NAME: &std::ffi::CStr = c"ARRAY_OBJECT_BASE_OFFSET";
    // Before JDK 9, in the package that everybody knows.
    let class =
        env.find_class(c"jdk/internal/misc/Unsafe").or_else(|_| env.find_class(c"sun/misc/Unsafe"))?;
    // SAFETY: static fields of this class, of these types.
    let first = unsafe {
        match env.static_field(class, NAME, c"I") {
            Ok(field) => i64::from(env.static_int(class, field)),
            Err(_) => env.static_long(class, env.static_field(class, NAME, c"J")?),
        }
    };
    Ok(usize::try_from(first).ok())
}
