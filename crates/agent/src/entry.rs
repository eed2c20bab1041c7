//! Where the VM calls in: the two ways an agent is loaded, and the events.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ffi::{CStr, c_char, c_uchar, c_void};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use quipu_arena::layout::header;
use quipu_jvm::sys::{
    self, JNIEnv, JavaVM, jclass, jint, jlong, jmethodID, jobject, jthread, jvmtiEnv, jvmtiEventCallbacks,
};
use quipu_jvm::{Capabilities, Capability, Env, Jvm, Jvmti, Object, Ref, jdk_version};
use quipu_rewrite::kept;

use crate::archives;
use crate::control;
use crate::engine::{self, ENGINES, SampledObject, Waiting};
use crate::engines;
use crate::engines::locks::parking;
use crate::events::Listener;
use crate::guard::guarded;
use crate::heap;
use crate::hook;
use crate::intrinsics;
use crate::listeners;
use crate::locks::lock;
use crate::not_included;
use crate::options::Options;
use crate::pins;
use crate::session::Session;
use crate::stacks;
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
        let prepared = unsafe { (Jvm::from_raw(vm), parse_with_environment(options)) };
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
    if let Some(asked) = unsafe { about_heap(options) } {
        // SAFETY: the caller's promise.
        let vm = unsafe { Jvm::from_raw(vm) }.ok_or("no VM")?;
        let lines = heap::answer(vm, &asked)?;
        // SAFETY: the caller's promise.
        return if unsafe { answer(options, &lines) } {
            Ok(())
        } else {
            Err("no place for the answer".to_owned())
        };
    }
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
    let started = vm.with_env(|env| {
        start::start(session, env, &options).inspect_err(|_| {
            // Nobody will say that it is over. Why it was refused is what matters.
            let _ = start::stop(session, env);
        })
    });
    control::told();
    started.map_err(|e| e.to_string())?
}

/// Options that ask something about the heap, for which nothing is measured.
///
/// # Safety
/// `options` is null or a C string.
unsafe fn about_heap(options: *const c_char) -> Option<String> {
    // SAFETY: the caller's promise.
    let text = (!options.is_null()).then(|| unsafe { CStr::from_ptr(options) }.to_string_lossy())?;
    heap::is_asked(&text).then(|| text.into_owned())
}

/// Tells the process that attached why not, in the file that the options name; `false` if they name none that can be written.
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

/// Options that are the environment's, for images in which the command line stays as it is.
const ENVIRONMENT: &str = "QUIPU_OPTIONS";

/// # Safety
/// `options` is null or a C string.
unsafe fn parse_with_environment(options: *const c_char) -> Result<Options, String> {
    // SAFETY: the caller's promise.
    let text = unsafe { text(options) };
    let more = std::env::var_os(ENVIRONMENT).unwrap_or_default();
    let all = [&*text, &*more.to_string_lossy()];
    Options::parse(&all.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(","))
}

/// # Safety
/// `options` is null or a C string.
unsafe fn parse(options: *const c_char) -> Result<Options, String> {
    // SAFETY: the caller's promise.
    Options::parse(&unsafe { text(options) })
}

/// # Safety
/// `options` is null or a C string that outlives what is returned.
unsafe fn text<'o>(options: *const c_char) -> Cow<'o, str> {
    match options.is_null() {
        true => Cow::default(),
        // SAFETY: the caller's promise.
        false => unsafe { CStr::from_ptr(options) }.to_string_lossy(),
    }
}

/// The same before there is a VM: `Thread` is yet to be loaded, and can get a field.
fn prepare_early(vm: Jvm, options: Options) -> Result<(), String> {
    let text = |e: quipu_jvm::Error| e.to_string();
    let jvmti = vm.jvmti().map_err(text)?;
    // Nothing that instrumentation needs is asked for unless there is going to be some; and the VM's archive of classes is given
    // up only for the fields.
    let early = Capabilities::of(&[Capability::CAN_GENERATE_EARLY_CLASS_HOOK_EVENTS]);
    let archive = if options.rewrites() { archives::required(vm) } else { None };
    // Before JDK 9 an agent that sees all classes sees the early ones, too.
    let old = jdk_version(jvmti).is_ok_and(|version| version.feature < 9);
    if let (Some(flag), true) = (archive, old) {
        return Err(format!("{flag}: Java 8 cannot count with it, and would not start"));
    }
    let fields = options.looks_at_fields();
    if let (Some(flag), true) = (archive, fields) {
        eprintln!(
            "quipu: {flag}: counting without fields in Thread, which is slower; the program starts as it is"
        );
    }
    let direct = fields
        && archive.is_none()
        && (old || {
            let missing = jvmti.add_available_capabilities(&early).map_err(text)?;
            !missing.contains(Capability::CAN_GENERATE_EARLY_CLASS_HOOK_EVENTS)
        });
    let session = prepare(vm, jvmti, Options { direct, ..options })?;
    engines::interval::early(session, &session.options().chosen);
    engines::calls::early(session, &session.options().chosen);
    if session.options().deterministic {
        intrinsics::pin(vm);
    }
    if direct {
        let event = sys::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK;
        session.listen(Listener::Instrumentation, event, true).map_err(text)?;
    }
    Ok(())
}

/// Names of VMs that are not HotSpot.
const OTHERS: [&str; 3] = ["OpenJ9", "IBM J9", "Substrate VM"];

/// Refuses a VM of which nothing is known.
fn refuse(name: &str) -> Result<(), String> {
    match OTHERS.iter().any(|other| name.contains(other)) {
        true => Err(format!("this is {name}, and Quipu measures HotSpot only")),
        false => Ok(()),
    }
}

/// Makes the session and asks for events.
fn prepare(vm: Jvm, jvmti: Jvmti, options: Options) -> Result<&'static Session, String> {
    let text = |e: quipu_jvm::Error| e.to_string();
    if let Ok(version) = jdk_version(jvmti) {
        refuse(&version.name)?;
    }
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
        SampledObjectAlloc: Some(sampled_object_alloc),
        MethodEntry: Some(method_entry),
        NativeMethodBind: Some(native_method_bind),
        MonitorContendedEnter: Some(contended_enter),
        MonitorContendedEntered: Some(contended_entered),
        MonitorWait: Some(monitor_wait),
        MonitorWaited: Some(monitor_waited),
        GarbageCollectionStart: Some(collection_start),
        GarbageCollectionFinish: Some(collection_finish),
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
            None if options.delay.is_some() => start::later(session, &env).map_err(|e| e.to_string()),
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
            ENGINES.iter().for_each(|engine| engine.vm_ends(&mut env));
            // What was seen last is told; there is no way left to complain.
            let _ = stacks::set(session, &mut env, &stacks::Wanted::default());
        }
        control::close();
        not_included::tell(session);
        session.end();
    });
}

/// SIGQUIT, or `jcmd`: the process that writes the profile is told to write what there is so far.
unsafe extern "system" fn data_dump_request(_: *mut jvmtiEnv) {
    guarded((), || {
        if let Some(session) = Session::get() {
            session.count(header::DUMP_REQUESTS, 1);
        }
    });
}

/// HotSpot's stack walk wants a listener, whether there is something to do or not.
unsafe extern "system" fn class_load(_: *mut jvmtiEnv, env: *mut JNIEnv, thread: jthread, class: jclass) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment, and what it has loaded.
        let passed = unsafe { (Env::from_raw(env), Ref::from_raw(thread), Ref::from_raw(class)) };
        let (Some(env), Some(thread), Some(class)) = passed else { return };
        ENGINES.iter().for_each(|engine| engine.class_loaded(&env, thread, class));
    });
}

#[allow(clippy::redundant_closure, reason = "a constructor is for one lifetime only")]
unsafe extern "system" fn contended_enter(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
) {
    // SAFETY: the VM passes this thread's environment, and what it waits for.
    unsafe { waits(env, thread, object, |object| Waiting::ToEnter(object)) }
}

unsafe extern "system" fn contended_entered(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
) {
    // SAFETY: as above.
    unsafe { waits(env, thread, object, |_| Waiting::Entered) }
}

unsafe extern "system" fn monitor_wait(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
    _: jlong,
) {
    // SAFETY: as above.
    unsafe { waits(env, thread, object, |_| Waiting::ForNotification) }
}

#[allow(clippy::redundant_closure, reason = "a constructor is for one lifetime only")]
unsafe extern "system" fn monitor_waited(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
    _: u8,
) {
    // SAFETY: as above.
    unsafe { waits(env, thread, object, |object| Waiting::Notified(object)) }
}

/// # Safety
/// The environment is this thread's, the thread and the object are null or valid.
unsafe fn waits(
    env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
    waiting: impl for<'e> FnOnce(Object<'e>) -> Waiting<'e>,
) {
    guarded((), || {
        // SAFETY: the caller's promise.
        let passed = unsafe { (Env::from_raw(env), Ref::from_raw(thread), Ref::from_raw(object)) };
        let (Some(env), Some(thread), Some(object)) = passed else { return };
        let waiting = waiting(object);
        ENGINES.iter().for_each(|engine| engine.waits(&env, thread, waiting));
    });
}

unsafe extern "system" fn native_method_bind(
    _: *mut jvmtiEnv,
    _: *mut JNIEnv,
    _: jthread,
    method: sys::jmethodID,
    function: *mut c_void,
    another: *mut *mut c_void,
) {
    guarded((), || {
        if let Some(other) = parking::bound(method, function).filter(|_| !another.is_null()) {
            // SAFETY: the VM's out-parameter; the function has the signature of the one that it replaces.
            unsafe { another.write(other) };
        }
    });
}

unsafe extern "system" fn collection_start(_: *mut jvmtiEnv) {
    guarded((), || ENGINES.iter().for_each(|engine| engine.collection(true)));
}

unsafe extern "system" fn collection_finish(_: *mut jvmtiEnv) {
    guarded((), || ENGINES.iter().for_each(|engine| engine.collection(false)));
}

unsafe extern "system" fn class_prepare(_: *mut jvmtiEnv, env: *mut JNIEnv, _: jthread, class: jclass) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment and a valid class.
        let (Some(env), Some(class)) = (unsafe { (Env::from_raw(env), Ref::from_raw(class)) }) else {
            return;
        };
        ENGINES.iter().for_each(|engine| engine.class_prepared(&env, class));
        if let Some(session) = Session::get() {
            pins::class_prepared(session, &env, class);
        }
    });
}

unsafe extern "system" fn thread_start(_: *mut jvmtiEnv, env: *mut JNIEnv, thread: jthread) {
    guarded((), || {
        listeners::thread_started();
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

unsafe extern "system" fn sampled_object_alloc(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
    class: jclass,
    size: jlong,
) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment, and what it has made.
        let passed = unsafe { (Env::from_raw(env), Ref::from_raw(thread), Ref::from_raw(class)) };
        let ((Some(env), Some(thread), Some(class)), Ok(size)) = (passed, u64::try_from(size)) else {
            return;
        };
        // SAFETY: as above.
        let Some(object) = (unsafe { Ref::from_raw(object) }) else { return };
        let made = SampledObject { thread, class, size, object, place: OnceCell::new() };
        ENGINES.iter().for_each(|engine| engine.object_sampled(&env, &made));
    });
}

unsafe extern "system" fn method_entry(_: *mut jvmtiEnv, env: *mut JNIEnv, thread: jthread, _: jmethodID) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment and a valid thread.
        let passed = unsafe { (Env::from_raw(env), Ref::from_raw(thread)) };
        if let (Some(env), Some(thread)) = passed {
            ENGINES.iter().for_each(|engine| engine.method_entered(&env, thread));
        }
    });
}

#[allow(clippy::too_many_arguments, reason = "the VM's signature")]
unsafe extern "system" fn class_file_load_hook(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    redefined: jclass,
    loader: jobject,
    name: *const c_char,
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
        if redefined.is_null() {
            // SAFETY: null, or the VM's text.
            let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_bytes());
            ENGINES.iter().for_each(|engine| engine.class_file(name));
        }
        if !session.is_wanted(Listener::Instrumentation, sys::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK) {
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

#[cfg(test)]
mod tests {
    use super::refuse;

    #[test]
    fn other_vms_are_refused_by_name() {
        assert!(
            refuse("OpenJDK 64-Bit Server VM").is_ok() && refuse("Java HotSpot(TM) 64-Bit Server VM").is_ok()
        );
        let why = refuse("Eclipse OpenJ9 VM").unwrap_err();
        assert_eq!(why, "this is Eclipse OpenJ9 VM, and Quipu measures HotSpot only");
        assert!(refuse("Substrate VM").is_err());
    }
}
