//! Threads that park: `Unsafe.park` is native, and while waits are measured it is a function of ours, which calls the VM's.
//!
//! What the thread parks for is in its field `parkBlocker`: a lock of `java.util.concurrent`, or something else.

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use quipu_jvm::hotspot::{Library, Structs, native_function};
use quipu_jvm::jni::kind;
use quipu_jvm::sys::{self, JNIEnv, jclass, jlong, jobject};
use quipu_jvm::{Class, Env, Error, FieldId, Global, MethodId, NativeMethod};

use super::{LOCKS, What};
use crate::dialect;
use crate::guard::guarded;
use crate::session::Session;

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
        let synchronizer =
            env.find_class(c"java/util/concurrent/locks/AbstractOwnableSynchronizer").map_err(text)?;
        let thread = env.find_class(c"java/lang/Thread").map_err(text)?;
        let latch = env.find_class(c"java/util/concurrent/CountDownLatch$Sync");
        env.clear_exception();
        let java = Java {
            blocker: env.field(thread, c"parkBlocker", c"Ljava/lang/Object;").map_err(text)?,
            synchronizer: env.new_global(synchronizer).map_err(text)?,
            latch: latch.ok().and_then(|latch| env.new_global(latch).ok()),
        };
        let _ = JAVA.set(java);
    }
    let class = unsafe_class(env).ok_or("there is no Unsafe")?;
    if PARK.load(Ordering::Acquire) == 0 {
        let method = env.method(class, NAME, DESCRIPTOR).map_err(text)?;
        let structs = Library::of(session.vm).and_then(Structs::of).ok_or("not HotSpot")?;
        let found =
            native_function(&structs, method).ok_or("the VM's way to park threads cannot be found")?;
        PARK.store(found, Ordering::Release);
    }
    let binder = match BINDER.get() {
        Some(binder) => binder,
        None => {
            let made = Binder::define(session, env).map_err(text)?.ok_or("the agent has no class for it")?;
            BINDER.get_or_init(|| made)
        }
    };
    binder.bind(env, true).map_err(text)
}

/// Threads park as they did before. One that is parked now still comes back through here.
pub fn end(env: &Env<'_>) {
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

const CLASSES: &[(&CStr, &[u8])] = include!(concat!(env!("OUT_DIR"), "/locks_classes.rs"));
static BINDER: OnceLock<Binder> = OnceLock::new();

impl Binder {
    fn define(session: &Session, env: &Env<'_>) -> Result<Option<Binder>, Error> {
        let Some((name, bytes)) = CLASSES.first() else { return Ok(None) };
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
        let found = PARK.load(Ordering::Acquire);
        let Some(class) = unsafe_class(&env).filter(|_| found != 0) else { return };
        let function = if ours != 0 { park as Park as *mut c_void } else { found as *mut c_void };
        let table = [NativeMethod { name: NAME, descriptor: DESCRIPTOR, function }];
        // SAFETY: the function has the method's signature: it is ours, or the one that was bound before. If it cannot be
        // bound, threads park as they do.
        let _ = unsafe { env.register_natives(class, &table) };
        env.clear_exception();
    });
}

unsafe extern "system" fn park(env: *mut JNIEnv, this: jobject, is_absolute: u8, time: jlong) {
    // SAFETY: the VM passes this thread's environment.
    let began = guarded(false, || unsafe { Env::from_raw(env) }.is_some_and(|mut env| began(&mut env)));
    let found = PARK.load(Ordering::Acquire);
    // SAFETY: the function that was bound before, with what it would have been called with.
    unsafe {
        let vms: Park = std::mem::transmute::<usize, Park>(found);
        vms(env, this, is_absolute, time);
    }
    if began {
        // SAFETY: as above.
        guarded((), || unsafe { Env::from_raw(env) }.into_iter().for_each(|mut env| ended(&mut env)));
    }
}

fn began(env: &mut Env<'_>) -> bool {
    let (Some(java), Some(session), true) = (JAVA.get(), Session::get(), LOCKS.is_on()) else { return false };
    let begun = env.with_frame(16, |env| {
        let thread = session.jvmti.current_thread(env).ok()?;
        // SAFETY: every thread has the field.
        let blocker = unsafe { env.object_field(thread, java.blocker) }?;
        let is = |class: &Global<kind::Class>| env.is_instance(blocker, class.get());
        let is_lock = is(&java.synchronizer) && !java.latch.as_ref().is_some_and(is);
        LOCKS.begin(env, thread, blocker, if is_lock { What::Synchronizer } else { What::Other });
        Some(())
    });
    env.clear_exception();
    matches!(begun, Ok(Some(())))
}

fn ended(env: &mut Env<'_>) {
    // A thread may have been interrupted, or an exception be on its way to it: that is not ours to touch.
    if let Some(session) = Session::get() {
        let _ = env.with_frame(8, |env| {
            if let Ok(thread) = session.jvmti.current_thread(env) {
                LOCKS.end(env, thread);
            }
        });
    }
}
