//! Where the VM calls in: the two ways an agent is loaded, and the events.

use std::ffi::{CStr, c_char, c_uchar, c_void};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use quipu_arena::layout::header;
use quipu_jvm::sys::{self, JNIEnv, JavaVM, jclass, jint, jobject, jthread, jvmtiEnv, jvmtiEventCallbacks};
use quipu_jvm::{Capabilities, Capability, Env, Jvm, Jvmti, Ref};
use quipu_rewrite::kept;

use crate::archives;
use crate::control;
use crate::engine::{self, ENGINES};
use crate::events::Listener;
use crate::guard::guarded;
use crate::hook;
use crate::listeners;
use crate::locks::lock;
use crate::options::Options;
use crate::pins;
use crate::sampling;
use crate::session::Session;
use crate::start;

const OK: jint = 0;
const FAILED: jint = 1;

/// Loaded with `-agentpath`: the VM is not there yet.
///
/// # Safety
/// Called by the VM, as JVMTI says.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(vm: *mut JavaVM, options: *const c_char, _: *mut c_void) -> jint {
    guarded(FAILED, || {
        // SAFETY: the VM's pointers, valid as JVMTI says.
        let prepared = unsafe { (Jvm::from_raw(vm), parse(options)) };
        let prepared = match prepared {
            (Some(vm), Ok(options)) => prepare_early(vm, options),
            (None, _) => Err("no VM".to_owned()),
            (_, Err(why)) => Err(why),
        };
        if let Err(why) = prepared {
            // A profiler that cannot start must not keep the program from running.
            complain(&why);
        }
        OK
    })
}

/// Loaded into a VM that runs.
///
/// # Safety
/// Called by the VM, as JVMTI says.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnAttach(
    vm: *mut JavaVM,
    options: *const c_char,
    _: *mut c_void,
) -> jint {
    guarded(FAILED, || {
        // SAFETY: the VM's pointers, valid as JVMTI says.
        match unsafe { attached(vm, options) } {
            Ok(()) => OK,
            Err(why) => {
                // SAFETY: as above.
                if !unsafe { answer(options, &why) } {
                    complain(&why);
                }
                FAILED
            }
        }
    })
}

/// Starts or stops, in a VM that runs. The library stays loaded, so this may happen many times.
///
/// # Safety
/// `vm` is the VM, `options` null or a C string.
unsafe fn attached(vm: *mut JavaVM, options: *const c_char) -> Result<(), String> {
    // SAFETY: the caller's promise.
    let (vm, options) = unsafe { (Jvm::from_raw(vm).ok_or("no VM")?, parse(options)?) };
    let _changing = lock(&start::CHANGING);
    let session = match (Session::get(), options.stop) {
        (Some(session), true) => {
            return vm.with_env(|env| start::stop(session, env)).map_err(|e| e.to_string())?;
        }
        (None, true) => return Err("nothing is being measured".to_owned()),
        (Some(session), false) if engine::any(session) => {
            return Err("a profile is being taken already: end that one first".to_owned());
        }
        (Some(session), false) => session,
        (None, false) => {
            let jvmti = vm.jvmti().map_err(|e| e.to_string())?;
            prepare(vm, jvmti, Options::clone(&options))?
        }
    };
    let started = vm.with_env(|env| start::start(session, env, &options)).map_err(|e| e.to_string());
    control::told();
    started?
}

/// Tells whoever attached why not, in the file that the options name; `false` if they name none that can be written.
///
/// # Safety
/// `options` is null or a C string.
unsafe fn answer(options: *const c_char, why: &str) -> bool {
    if options.is_null() {
        return false;
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(options) }.to_string_lossy();
    let Some(path) = text.split(',').find_map(|pair| pair.strip_prefix("answer=")) else { return false };
    // It was made for this: nothing else is opened, and nothing is made.
    let file = OpenOptions::new().append(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
    file.and_then(|mut file| file.write_all(why.as_bytes())).is_ok()
}

/// # Safety
/// `options` is null or a C string.
unsafe fn parse(options: *const c_char) -> Result<Options, String> {
    let text = if options.is_null() {
        Default::default()
    } else {
        // SAFETY: the caller's promise.
        unsafe { CStr::from_ptr(options) }.to_string_lossy()
    };
    Options::parse(&text)
}

/// The same before there is a VM: `Thread` is yet to be loaded, and can get a field.
fn prepare_early(vm: Jvm, options: Options) -> Result<(), String> {
    let text = |e: quipu_jvm::Error| e.to_string();
    let jvmti = vm.jvmti().map_err(text)?;
    // Nothing that instrumentation needs is asked for unless there is going to be some.
    let early = Capabilities::of(&[Capability::CAN_GENERATE_EARLY_CLASS_HOOK_EVENTS]);
    let archive = if options.rewrites() { archives::required(vm) } else { None };
    if let Some(flag) = archive {
        eprintln!(
            "quipu: {flag}: counting without fields in Thread, which is slower; the program starts as it is"
        );
    }
    let direct = options.rewrites() && archive.is_none() && {
        let missing = jvmti.add_available_capabilities(&early).map_err(text)?;
        !missing.contains(Capability::CAN_GENERATE_EARLY_CLASS_HOOK_EVENTS)
    };
    let session = prepare(vm, jvmti, Options { direct, ..options })?;
    if direct {
        let event = sys::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK;
        session.listen(Listener::Instrumentation, event, true).map_err(text)?;
    }
    Ok(())
}

/// Makes the session and asks for events.
fn prepare(vm: Jvm, jvmti: Jvmti, options: Options) -> Result<&'static Session, String> {
    let text = |e: quipu_jvm::Error| e.to_string();
    if options.rewrites() {
        // Some VMs give more in this phase than later.
        start::add_capabilities(jvmti).map_err(text)?;
    }
    let session = Session::begin(vm, jvmti, options)?;
    let callbacks = jvmtiEventCallbacks {
        VMInit: Some(vm_init),
        VMDeath: Some(vm_death),
        ClassFileLoadHook: Some(class_file_load_hook),
        ClassLoad: Some(class_load),
        ClassPrepare: Some(class_prepare),
        ThreadStart: Some(thread_start),
        ThreadEnd: Some(thread_end),
        VirtualThreadStart: Some(thread_start),
        VirtualThreadEnd: Some(thread_end),
        DataDumpRequest: Some(data_dump_request),
        ..Default::default()
    };
    // SAFETY: the callbacks below do what JVMTI allows them, and are guarded.
    unsafe { jvmti.set_event_callbacks(&callbacks) }.map_err(text)?;
    for event in [sys::JVMTI_EVENT_VM_INIT, sys::JVMTI_EVENT_VM_DEATH, sys::JVMTI_EVENT_DATA_DUMP_REQUEST] {
        jvmti.set_event_mode(event, true, None).map_err(text)?;
    }
    Ok(session)
}

unsafe extern "system" fn vm_init(_: *mut jvmtiEnv, env: *mut JNIEnv, _: jthread) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment.
        let (Some(session), Some(mut env)) = (Session::get(), unsafe { Env::from_raw(env) }) else { return };
        let options = session.options();
        let started = match &options.tests {
            Some(jar) => listeners::wait(session, &env, jar).map_err(|e| e.to_string()),
            None => start::start(session, &mut env, &options),
        };
        if let Err(why) = started {
            session.failed(&why);
        }
    });
}

unsafe extern "system" fn vm_death(_: *mut jvmtiEnv, env: *mut JNIEnv) {
    guarded((), || {
        let Some(session) = Session::get() else { return };
        // SAFETY: the VM passes this thread's environment.
        if let Some(mut env) = unsafe { Env::from_raw(env) } {
            // What was seen last is told; there is nobody left to complain to.
            let _ = sampling::set(session, &mut env, &sampling::Wanted::default());
        }
        control::close();
        session.end();
    });
}

/// SIGQUIT, or `jcmd`: whoever writes the profile is told to write what there is so far.
unsafe extern "system" fn data_dump_request(_: *mut jvmtiEnv) {
    guarded((), || {
        if let Some(session) = Session::get() {
            session.count(header::DUMP_REQUESTS, 1);
        }
    });
}

/// Nothing to do: HotSpot's stack walk only wants somebody to listen.
unsafe extern "system" fn class_load(_: *mut jvmtiEnv, _: *mut JNIEnv, _: jthread, _: jclass) {}

unsafe extern "system" fn class_prepare(_: *mut jvmtiEnv, env: *mut JNIEnv, _: jthread, class: jclass) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment and a valid class.
        let (Some(env), Some(class)) = (unsafe { (Env::from_raw(env), Ref::from_raw(class)) }) else {
            return;
        };
        ENGINES.iter().for_each(|engine| engine.class_prepared(class));
        if let Some(session) = Session::get() {
            pins::class_prepared(session, &env, class);
        }
    });
}

unsafe extern "system" fn thread_start(_: *mut jvmtiEnv, env: *mut JNIEnv, thread: jthread) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment and a valid thread.
        if let (Some(env), Some(thread)) = unsafe { (Env::from_raw(env), Ref::from_raw(thread)) } {
            ENGINES.iter().for_each(|engine| engine.thread_began(&env, thread));
        }
    });
}

unsafe extern "system" fn thread_end(_: *mut jvmtiEnv, env: *mut JNIEnv, thread: jthread) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment and a valid thread.
        let (Some(env), Some(thread)) = (unsafe { Env::from_raw(env) }, unsafe { Ref::from_raw(thread) })
        else {
            return;
        };
        ENGINES.iter().rev().for_each(|engine| engine.thread_ended(&env, thread));
    });
}

#[allow(clippy::too_many_arguments, reason = "the VM's signature")]
unsafe extern "system" fn class_file_load_hook(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    _: jclass,
    loader: jobject,
    _: *const c_char,
    _: jobject,
    length: jint,
    bytes: *const c_uchar,
    new_length: *mut jint,
    new_bytes: *mut *mut c_uchar,
) {
    guarded((), || {
        let (Some(session), Ok(length)) = (Session::get(), usize::try_from(length)) else { return };
        if bytes.is_null() {
            return;
        }
        // SAFETY: the VM passes `length` bytes that stay put during the call, and null or a valid loader.
        let (bytes, loader) = unsafe { (std::slice::from_raw_parts(bytes, length), Ref::from_raw(loader)) };
        // SAFETY: this thread's environment, or null before there is one.
        let env = unsafe { Env::from_raw(env) };
        let Some(changed) = hook::transform(session, env.as_ref(), loader, bytes) else { return };
        let (Ok(copy), Ok(size)) = (session.jvmti.allocate_copy(&changed), jint::try_from(changed.len()))
        else {
            return;
        };
        // SAFETY: the VM's out-parameters; it frees the memory, which is JVMTI's.
        unsafe {
            new_length.write(size);
            new_bytes.write(copy.into_raw());
        }
        kept::keep_bytes(changed);
    });
}

/// Tells the person at the target why there is no profile.
pub(crate) fn complain(why: &str) {
    eprintln!("quipu: not profiling: {why}");
}
