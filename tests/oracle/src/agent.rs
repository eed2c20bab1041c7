//! Where the VM calls in.

use std::ffi::{CStr, c_char, c_uchar, c_void};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, OnceLock};

use quipu_classfile::ClassFile;
use quipu_jvm::sys::{
    self, JBool, JNIEnv, JavaVM, jclass, jint, jlocation, jmethodID, jobject, jthread, jvalue, jvmtiEnv,
    jvmtiEvent, jvmtiEventCallbacks,
};
use quipu_jvm::{Capabilities, Capability, Env, Jvm, Jvmti, MethodId, Ref, Thread};

use crate::forgetting::{forget, mislead};
use crate::pins;
use crate::recorder::{Method, Recorder};
use crate::roles::Roles;
use crate::stepping::{Said, Stepping, change_breakpoint, native_resolves, resolving_length};

/// The agent's state. Two locks: the hook is called on all threads, and while the recorder's thread loads classes.
struct Oracle {
    jvmti: Jvmti,
    file: PathBuf,
    roles: Mutex<Roles>,
    watch: Mutex<Watch>,
}

struct Watch {
    recorder: Recorder,
    stepping: Stepping,
}

static ORACLE: OnceLock<Oracle> = OnceLock::new();

/// What is watched on the main thread, beside its steps.
const EVENTS: [jvmtiEvent; 5] = [
    sys::JVMTI_EVENT_METHOD_ENTRY,
    sys::JVMTI_EVENT_METHOD_EXIT,
    sys::JVMTI_EVENT_BREAKPOINT,
    sys::JVMTI_EVENT_EXCEPTION_CATCH,
    sys::JVMTI_EVENT_SINGLE_STEP,
];

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Nothing may unwind into the VM.
fn guarded(body: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(body));
}

/// Loaded with `-agentpath:libquipu_oracle.so=FILE`.
///
/// # Safety
/// Called by the VM, as JVMTI says.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(vm: *mut JavaVM, options: *const c_char, _: *mut c_void) -> jint {
    if options.is_null() {
        eprintln!("oracle: say which file to write");
        return 1;
    }
    // SAFETY: the VM's pointers, valid as JVMTI says.
    let (vm, file) = unsafe { (Jvm::from_raw(vm), CStr::from_ptr(options).to_string_lossy().into_owned()) };
    if let (Some(vm), Some(field)) = (vm, file.strip_prefix("forget=")) {
        return forget(vm, field).map_or(1, |()| 0);
    }
    if let (Some(vm), Some(field)) = (vm, file.strip_prefix("mislead=")) {
        return mislead(vm, field).map_or(1, |()| 0);
    }
    match vm.ok_or_else(|| "no VM".to_owned()).and_then(|vm| prepare(vm, file).map_err(|e| e.to_string())) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("oracle: {error}");
            1
        }
    }
}

fn prepare(vm: Jvm, file: String) -> quipu_jvm::Result<()> {
    let jvmti = vm.jvmti()?;
    jvmti.add_capabilities(&Capabilities::of(&[
        Capability::CAN_GENERATE_ALL_CLASS_HOOK_EVENTS,
        Capability::CAN_GENERATE_SINGLE_STEP_EVENTS,
        Capability::CAN_GENERATE_METHOD_ENTRY_EVENTS,
        Capability::CAN_GENERATE_METHOD_EXIT_EVENTS,
        Capability::CAN_GENERATE_BREAKPOINT_EVENTS,
        Capability::CAN_GENERATE_EXCEPTION_EVENTS,
        Capability::CAN_GET_BYTECODES,
    ]))?;
    // Before JDK 9, all classes are also the early ones.
    jvmti
        .add_available_capabilities(&Capabilities::of(&[Capability::CAN_GENERATE_EARLY_CLASS_HOOK_EVENTS]))?;
    let watch = Watch { recorder: Recorder::new(), stepping: Stepping::default() };
    let _ =
        ORACLE.set(Oracle { jvmti, file: file.into(), roles: Mutex::default(), watch: Mutex::new(watch) });
    let callbacks = jvmtiEventCallbacks {
        VMInit: Some(vm_init),
        VMDeath: Some(vm_death),
        ClassFileLoadHook: Some(class_file_load_hook),
        MethodEntry: Some(method_entry),
        MethodExit: Some(method_exit),
        Breakpoint: Some(breakpoint),
        ExceptionCatch: Some(exception_catch),
        SingleStep: Some(single_step),
        ..Default::default()
    };
    // SAFETY: the callbacks do what JVMTI allows them, and do not unwind.
    unsafe { jvmti.set_event_callbacks(&callbacks)? };
    // From the first class on: they are not retransformed, because breakpoints in methods that were crash the VM.
    jvmti.set_event_mode(sys::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, true, None)?;
    jvmti.set_event_mode(sys::JVMTI_EVENT_VM_INIT, true, None)?;
    jvmti.set_event_mode(sys::JVMTI_EVENT_VM_DEATH, true, None)
}

/// The program begins: its main thread is watched from here on.
unsafe extern "system" fn vm_init(_: *mut jvmtiEnv, env: *mut JNIEnv, thread: jthread) {
    guarded(|| {
        // SAFETY: the VM passes this thread's environment and a valid thread.
        let (Some(oracle), Some(env), Some(thread)) =
            (ORACLE.get(), unsafe { Env::from_raw(env) }, unsafe { Ref::from_raw(thread) })
        else {
            return;
        };
        let watch = |&event| oracle.jvmti.set_event_mode(event, true, Some(thread));
        if let Err(error) = pins::pin(&env).and_then(|()| EVENTS.iter().try_for_each(watch)) {
            eprintln!("oracle: {error}");
        }
    });
}

unsafe extern "system" fn vm_death(_: *mut jvmtiEnv, _: *mut JNIEnv) {
    guarded(|| {
        let Some(oracle) = ORACLE.get() else { return };
        let written = File::create(&oracle.file).and_then(|file| {
            let mut out = BufWriter::new(file);
            lock(&oracle.watch).recorder.write(&mut out)?;
            out.flush()
        });
        if let Err(error) = written {
            eprintln!("oracle: {}: {error}", oracle.file.display());
        }
    });
}

#[allow(clippy::too_many_arguments, reason = "the VM's signature")]
unsafe extern "system" fn class_file_load_hook(
    _: *mut jvmtiEnv,
    _: *mut JNIEnv,
    _: jclass,
    _: jobject,
    _: *const c_char,
    _: jobject,
    length: jint,
    bytes: *const c_uchar,
    _: *mut jint,
    _: *mut *mut c_uchar,
) {
    guarded(|| {
        let (Some(oracle), Ok(length)) = (ORACLE.get(), usize::try_from(length)) else { return };
        // SAFETY: the VM passes `length` bytes that stay put during the call.
        let bytes = unsafe { std::slice::from_raw_parts(bytes, length) };
        if let Ok(class) = ClassFile::parse(bytes) {
            lock(&oracle.roles).learn(&class);
        }
    });
}

/// Runs `body` with what an event of the main thread needs: the watch, and the number of the method it is about.
unsafe fn on_event(
    env: *mut JNIEnv,
    thread: jthread,
    method: jmethodID,
    body: impl FnOnce(&mut Watch, Jvmti, Thread<'_>, u32),
) {
    guarded(|| {
        // SAFETY: the VM passes this thread's environment and a valid thread.
        let (Some(oracle), Some(mut env), Some(thread)) =
            (ORACLE.get(), unsafe { Env::from_raw(env) }, unsafe { Ref::from_raw(thread) })
        else {
            return;
        };
        let mut watch = lock(&oracle.watch);
        let number = match watch.recorder.numbers.get(&(method as usize)) {
            Some(&number) => number,
            None => {
                let described = env.with_frame(8, |env| describe(oracle, env, method));
                let Ok(Ok(described)) = described else { return };
                let number = watch.recorder.methods.len() as u32;
                watch.recorder.methods.push(described);
                watch.recorder.numbers.insert(method as usize, number);
                number
            }
        };
        body(&mut watch, oracle.jvmti, thread, number);
    });
}

fn describe(oracle: &Oracle, env: &Env<'_>, raw: jmethodID) -> quipu_jvm::Result<Method> {
    let jvmti = oracle.jvmti;
    // SAFETY: the VM passed the id in an event about a method that runs.
    let method = unsafe { MethodId::from_raw(raw) };
    let signature = jvmti.class_signature(jvmti.declaring_class(env, method)?)?;
    let class = signature.as_bytes();
    let class = class.strip_prefix(b"L").and_then(|class| class.strip_suffix(b";")).unwrap_or(class);
    let names = jvmti.method_name(method)?;
    let role = lock(&oracle.roles).of(class, names.name.as_bytes(), names.descriptor.as_bytes());
    let code = bytecodes(jvmti, raw);
    Ok(Method {
        class: String::from_utf8_lossy(class).replace('/', "."),
        name: names.name.to_string(),
        descriptor: names.descriptor.to_string(),
        role,
        seen: vec![false; code.len()],
        code,
    })
}

fn bytecodes(jvmti: Jvmti, method: jmethodID) -> Vec<u8> {
    let (mut count, mut code) = (0, null_mut());
    // SAFETY: the VM allocates `count` bytes, which are copied and freed.
    unsafe {
        let table = &**jvmti.raw();
        let (Some(get), Some(free)) = (table.GetBytecodes, table.Deallocate) else { return Vec::new() };
        if get(jvmti.raw(), method, &mut count, &mut code) != sys::JVMTI_ERROR_NONE || code.is_null() {
            return Vec::new();
        }
        let copy = std::slice::from_raw_parts(code, usize::try_from(count).unwrap_or_default()).to_vec();
        let _ = free(jvmti.raw(), code);
        copy
    }
}

unsafe extern "system" fn method_entry(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    method: jmethodID,
) {
    // SAFETY: the VM's own arguments.
    unsafe {
        on_event(env, thread, method, |watch, jvmti, thread, number| {
            watch.recorder.enter(number);
            watch.stepping.forget();
            let Method { class, name, code, .. } = &watch.recorder.methods[number as usize];
            if !code.is_empty() {
                unreported(watch, jvmti, thread, method, number, 0);
            } else if native_resolves(class, name) {
                watch.recorder.begin_to_resolve(None);
                watch.stepping.pause(jvmti, thread);
            }
        });
    }
}

unsafe extern "system" fn method_exit(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    method: jmethodID,
    by_exception: JBool,
    _: jvalue,
) {
    // SAFETY: the VM's own arguments.
    unsafe {
        on_event(env, thread, method, |watch, jvmti, thread, number| {
            watch.recorder.exit(number, by_exception != 0);
            watch.stepping.forget();
            if watch.recorder.resolves() {
                watch.stepping.pause(jvmti, thread);
            } else {
                watch.stepping.resume(jvmti, thread);
            }
        });
    }
}

unsafe extern "system" fn single_step(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    method: jmethodID,
    location: jlocation,
) {
    // SAFETY: the VM's own arguments.
    unsafe {
        on_event(env, thread, method, |watch, jvmti, thread, number| {
            let bci = usize::try_from(location).unwrap_or_default();
            if watch.stepping.is_news(watch.recorder.depth(), bci, Said::Step) {
                step(watch, jvmti, thread, method, number, bci);
            }
        });
    }
}

/// The instruction behind one that was executed for the first time is reached.
unsafe extern "system" fn breakpoint(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    method: jmethodID,
    location: jlocation,
) {
    // SAFETY: the VM's own arguments.
    unsafe {
        on_event(env, thread, method, |watch, jvmti, thread, number| {
            let bci = usize::try_from(location).unwrap_or_default();
            if watch.recorder.is_done_with(bci) {
                change_breakpoint(jvmti, method, bci, false);
            }
            unreported(watch, jvmti, thread, method, number, bci);
        });
    }
}

/// A handler is about to run.
unsafe extern "system" fn exception_catch(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    method: jmethodID,
    location: jlocation,
    _: jobject,
) {
    // SAFETY: the VM's own arguments.
    unsafe {
        on_event(env, thread, method, |watch, jvmti, thread, number| {
            let bci = usize::try_from(location).unwrap_or_default();
            watch.recorder.throws();
            unreported(watch, jvmti, thread, method, number, bci);
        });
    }
}

/// Switches steps on, if they are off, and counts the one that the VM did not report, or only will.
fn unreported(
    watch: &mut Watch,
    jvmti: Jvmti,
    thread: Thread<'_>,
    method: jmethodID,
    number: u32,
    bci: usize,
) {
    if watch.stepping.is_news(watch.recorder.depth(), bci, Said::Other) {
        watch.stepping.resume(jvmti, thread);
        step(watch, jvmti, thread, method, number, bci);
    }
}

fn step(watch: &mut Watch, jvmti: Jvmti, thread: Thread<'_>, method: jmethodID, number: u32, bci: usize) {
    let first = watch.recorder.step(number, bci);
    let length = resolving_length(watch.recorder.methods[number as usize].opcode(bci));
    if let Some(length) = length {
        watch.recorder.expect(bci + length);
    }
    if let (true, Some(length)) = (first, length) {
        watch.recorder.begin_to_resolve(Some(bci + length));
        change_breakpoint(jvmti, method, bci + length, true);
        watch.stepping.pause(jvmti, thread);
    }
}
