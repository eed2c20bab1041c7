//! Threads that park: `Unsafe.park` is native, and while waits are measured it is a function of ours, which calls the VM's.
//!
//! What the thread parks for is in its field `parkBlocker`: a lock of `java.util.concurrent`, or something else.

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use quipu_jvm::jni::kind;
use quipu_jvm::sys::{self, JNIEnv, jclass, jlong, jobject};
use quipu_jvm::{
    Capabilities, Capability, Class, Env, Error, FieldId, Global, MethodId, NativeMethod, Object, Thread,
};

use super::{LOCKS, What, mounting};
use crate::classes;
use crate::dialect;
use crate::guard::guarded;
use crate::session::Session;
use crate::stacks::monotonic;
use crate::stacks::record::{self, Here};

const NAME: &CStr = c"park";
const DESCRIPTOR: &CStr = c"(ZJ)V";
type Park = unsafe extern "system" fn(*mut JNIEnv, jobject, u8, jlong);

/// The VM's function; 0 until it is known.
static PARK: AtomicUsize = AtomicUsize::new(0);

struct Java {
    blocker: FieldId,
    /// What all locks of `java.util.concurrent` are made of, and what is made of it too and is no lock.
    synchronizer: Global<kind::Class>,
    latch: Option<Global<kind::Class>>,
    /// A lock that is made of nothing else, and does not know who has it.
    stamped: Option<Global<kind::Class>>,
    queue: Option<Queue>,
}

/// Where a lock of `java.util.concurrent` has the threads that wait for it: each has a node, made for this attempt to get it.
struct Queue {
    class: Global<kind::Class>,
    tail: FieldId,
    previous: FieldId,
    waiter: FieldId,
}

/// Nodes that are looked at to find that of a thread, which is among the last ones.
const NODES: usize = 32;

impl Java {
    fn find(env: &Env<'_>) -> Result<Java, Error> {
        let synchronizer = env.find_class(c"java/util/concurrent/locks/AbstractOwnableSynchronizer")?;
        let thread = env.find_class(c"java/lang/Thread")?;
        let latch = env.find_class(c"java/util/concurrent/CountDownLatch$Sync");
        env.clear_exception();
        let stamped = env.find_class(c"java/util/concurrent/locks/StampedLock");
        env.clear_exception();
        let queue = Queue::find(env);
        env.clear_exception();
        Ok(Java {
            blocker: env.field(thread, c"parkBlocker", c"Ljava/lang/Object;")?,
            synchronizer: env.new_global(synchronizer)?,
            latch: latch.ok().and_then(|latch| env.new_global(latch).ok()),
            stamped: stamped.ok().and_then(|stamped| env.new_global(stamped).ok()),
            queue: queue.ok(),
        })
    }
}

impl Queue {
    fn find(env: &Env<'_>) -> Result<Queue, Error> {
        const NODE: &CStr = c"Ljava/util/concurrent/locks/AbstractQueuedSynchronizer$Node;";
        const THREAD: &CStr = c"Ljava/lang/Thread;";
        let class = env.find_class(c"java/util/concurrent/locks/AbstractQueuedSynchronizer")?;
        let node = env.find_class(c"java/util/concurrent/locks/AbstractQueuedSynchronizer$Node")?;
        // It was called otherwise before JDK 14.
        let waiter = env.field(node, c"waiter", THREAD).or_else(|_| {
            env.clear_exception();
            env.field(node, c"thread", THREAD)
        })?;
        Ok(Queue {
            tail: env.field(class, c"tail", NODE)?,
            previous: env.field(node, c"prev", NODE)?,
            waiter,
            class: env.new_global(class)?,
        })
    }

    /// A number for this attempt of a thread to get a lock; 0 if it is not found.
    fn attempt(&self, session: &Session, env: &mut Env<'_>, lock: Object<'_>, thread: Thread<'_>) -> u32 {
        let found = env.with_frame(2 * NODES as u16, |env| {
            if !env.is_instance(lock, self.class.get()) {
                return None;
            }
            // SAFETY: a lock of this class has the field, and what is in it has the two others.
            unsafe {
                let mut node = env.object_field(lock, self.tail)?;
                for _ in 0..NODES {
                    if env.object_field(node, self.waiter).is_some_and(|waiter| env.is_same(waiter, thread)) {
                        return session.jvmti.object_hash_code(node).ok();
                    }
                    node = env.object_field(node, self.previous)?;
                }
            }
            None
        });
        found.ok().flatten().map_or(0, i32::cast_unsigned)
    }
}

static JAVA: OnceLock<Java> = OnceLock::new();

fn unsafe_class<'e>(env: &Env<'e>) -> Option<Class<'e>> {
    let found = env.find_class(c"jdk/internal/misc/Unsafe").or_else(|_| {
        env.clear_exception();
        env.find_class(c"sun/misc/Unsafe")
    });
    env.clear_exception();
    found.ok()
}

/// Threads that park pass here from now on.
pub fn begin(session: &Session, env: &Env<'_>) -> Result<(), String> {
    let text = |e: Error| e.to_string();
    if JAVA.get().is_none() {
        let _ = JAVA.set(Java::find(env).map_err(text)?);
    }
    mounting::set(session, env, true)?;
    if PARK.load(Ordering::Acquire) == 0 {
        let needed = Capability::CAN_GENERATE_NATIVE_METHOD_BIND_EVENTS;
        let missing = session.jvmti.add_available_capabilities(&Capabilities::of(&[needed])).map_err(text)?;
        if missing.contains(needed) {
            return Err("this JVM does not tell how threads park".to_owned());
        }
    }
    let binder = match BINDER.get() {
        Some(binder) => binder,
        None => {
            let made = Binder::define(session, env).map_err(text)?.ok_or("the agent has no class for it")?;
            BINDER.get_or_init(|| made)
        }
    };
    binder.bind(env, true).map_err(text)?;
    match PARK.load(Ordering::Acquire) {
        0 => Err("the VM's way to park threads cannot be found".to_owned()),
        _ => Ok(()),
    }
}

/// Threads park as they did before. One that is parked now still comes back through here.
pub fn end(session: &Session, env: &Env<'_>) {
    // It was set before, so it can be unset.
    let _ = mounting::set(session, env, false);
    if let Some(binder) = BINDER.get() {
        // It was bound before, so it can be bound again.
        let _ = binder.bind(env, false);
    }
}

/// The Java class by whose means the function is bound: see there.
struct Binder {
    class: Global<kind::Class>,
    bind: MethodId,
}

static BINDER: OnceLock<Binder> = OnceLock::new();

impl Binder {
    fn define(session: &Session, env: &Env<'_>) -> Result<Option<Binder>, Error> {
        let classes = classes::LOCKS.unpack();
        let Some((name, bytes)) = classes.first() else { return Ok(None) };
        let class = dialect::define(env, session.jvmti, name, bytes)?;
        let native =
            NativeMethod { name: c"bind0", descriptor: c"(Z)V", function: bind as Bind as *mut c_void };
        // SAFETY: the function has the signature that Parking.java declares.
        unsafe { env.register_natives(class, &[native])? };
        let bind = env.static_method(class, c"bind", c"(Z)V")?;
        Ok(Some(Binder { bind, class: env.new_global(class)? }))
    }

    fn bind(&self, env: &Env<'_>, ours: bool) -> Result<(), Error> {
        // SAFETY: the method takes one boolean and returns nothing.
        unsafe { env.call_static_void(self.class.get(), self.bind, &[sys::jvalue { z: ours }]) }
    }
}

type Bind = unsafe extern "system" fn(*mut JNIEnv, jclass, u8);

unsafe extern "system" fn bind(env: *mut JNIEnv, _: jclass, ours: u8) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment.
        let Some(env) = (unsafe { Env::from_raw(env) }) else { return };
        let Some(class) = unsafe_class(&env) else { return };
        let found = PARK.load(Ordering::Acquire);
        let function = if ours != 0 { park as Park as *mut c_void } else { found as *mut c_void };
        if function.is_null() {
            return;
        }
        let table = [NativeMethod { name: NAME, descriptor: DESCRIPTOR, function }];
        // SAFETY: the function has the method's signature: it is ours, or the one that was bound before. If it cannot be
        // bound, threads park as they do.
        let bound = unsafe { env.register_natives(class, &table) };
        if bound.is_ok() && found == 0 {
            find(&env, class);
        }
        env.clear_exception();
    });
}

/// The method by which threads park, while it is bound anew; 0 otherwise.
static METHOD: AtomicUsize = AtomicUsize::new(0);

/// Finds the VM's function: the class binds all its native methods anew, which puts the VM's in the place of ours, and the VM
/// tells of that ([`bound`]), where ours is left in its place.
fn find(env: &Env<'_>, class: Class<'_>) -> Option<()> {
    let session = Session::get()?;
    let park = env.method(class, NAME, DESCRIPTOR).ok()?;
    let bind = env.static_method(class, c"registerNatives", c"()V").ok()?;
    let event = sys::JVMTI_EVENT_NATIVE_METHOD_BIND;
    METHOD.store(park.raw() as usize, Ordering::Release);
    if session.jvmti.set_event_mode(event, true, None).is_ok() {
        // SAFETY: the method takes and returns nothing.
        let called = unsafe { env.call_static_void(class, bind, &[]) };
        let _ = (called, session.jvmti.set_event_mode(event, false, None));
    }
    METHOD.store(0, Ordering::Release);
    Some(())
}

/// A native method is bound to a function, or to another one that is returned.
pub fn bound(method: sys::jmethodID, function: *mut c_void) -> Option<*mut c_void> {
    let ours = park as Park as *mut c_void;
    let is_park = !method.is_null() && method as usize == METHOD.load(Ordering::Acquire);
    (is_park && function != ours).then(|| {
        PARK.store(function as usize, Ordering::Release);
        ours
    })
}

unsafe extern "system" fn park(env: *mut JNIEnv, this: jobject, is_absolute: u8, time: jlong) {
    let began = guarded(Began::default(), || {
        // SAFETY: the VM passes this thread's environment.
        let env = unsafe { Env::from_raw(env) };
        env.map(|mut env| began(&mut env)).unwrap_or_default()
    });
    let found = PARK.load(Ordering::Acquire);
    if found == 0 {
        // The VM's function is just being found. A thread may come back from here for no reason, and then looks what it is to do.
        std::thread::yield_now();
    } else {
        // SAFETY: the function that was bound before, with what it would have been called with.
        unsafe {
            let vms: Park = std::mem::transmute::<usize, Park>(found);
            vms(env, this, is_absolute, time);
        }
    }
    if let Some((here, since)) = began.pinned.filter(|_| LOCKS.is_on()) {
        guarded((), || LOCKS.pinned(here, since, monotonic().saturating_sub(since), 0));
    }
    if began.waits {
        // SAFETY: as above.
        guarded((), || unsafe { Env::from_raw(env) }.into_iter().for_each(|mut env| ended(&mut env)));
    }
}

/// What a thread has begun that parks.
#[derive(Default)]
struct Began {
    /// To wait for something.
    waits: bool,
    /// To keep its carrier from others, where and when: a virtual thread parks here only if it cannot give it back.
    pinned: Option<(Here, u64)>,
}

fn began(env: &mut Env<'_>) -> Began {
    let Some(session) = Session::get().filter(|_| LOCKS.is_on()) else { return Began::default() };
    let begun = env.with_frame(16, |env| {
        let thread = session.jvmti.current_thread(env).ok()?;
        let waits = begins(session, env, thread).is_some();
        let here = env.is_virtual(thread).then(|| record::here(env, thread)).flatten();
        Some(Began { waits, pinned: here.map(|here| (here, monotonic())) })
    });
    env.clear_exception();
    begun.ok().flatten().unwrap_or_default()
}

/// What a thread parks for; `None` if it does not say.
pub(super) fn parks_for<'e>(env: &Env<'e>, thread: Thread<'_>) -> Option<(Object<'e>, What)> {
    let java = JAVA.get()?;
    // SAFETY: every thread has the field.
    let blocker = unsafe { env.object_field(thread, java.blocker) }?;
    let is = |class: &Global<kind::Class>| env.is_instance(blocker, class.get());
    let what = if java.stamped.as_ref().is_some_and(is) {
        What::Ownerless
    } else if !is(&java.synchronizer) || java.latch.as_ref().is_some_and(is) {
        What::Other
    } else {
        What::Synchronizer { attempt: 0 }
    };
    Some((blocker, what))
}

/// A thread is about to park; `None` if it does not say for what.
fn begins(session: &Session, env: &mut Env<'_>, thread: Thread<'_>) -> Option<()> {
    let (blocker, mut what) = parks_for(env, thread)?;
    if let (What::Synchronizer { attempt }, Some(queue)) =
        (&mut what, JAVA.get().and_then(|java| java.queue.as_ref()))
    {
        *attempt = queue.attempt(session, env, blocker, thread);
    }
    LOCKS.begin(env, thread, blocker, what);
    Some(())
}

/// A virtual thread is taken from its carrier, perhaps because it parks.
pub fn began_virtual(env: &mut Env<'_>, thread: Thread<'_>) {
    if let Some(session) = Session::get().filter(|_| LOCKS.is_on()) {
        let _ = env.with_frame(16, |env| begins(session, env, thread));
    }
}

/// A virtual thread goes on: nothing if it did not park.
pub fn ended_virtual(env: &Env<'_>, thread: Thread<'_>) {
    if LOCKS.is_on() {
        LOCKS.parked(env, thread);
    }
}

fn ended(env: &mut Env<'_>) {
    // A thread may have been interrupted, or an exception be on its way to it: that is not ours to touch.
    if let Some(session) = Session::get() {
        let _ = env.with_frame(8, |env| {
            if let Ok(thread) = session.jvmti.current_thread(env) {
                LOCKS.parked(env, thread);
            }
        });
    }
}
