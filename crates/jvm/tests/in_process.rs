//! The wrappers against real VMs: each JDK's `libjvm.so` is loaded into a process of its own, with `-Xcheck:jni`
//! watching every call.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, reason = "creates a VM and calls it as C would")]

#[path = "../gen/jdks.rs"]
mod jdks;

use quipu_jvm::hotspot::{Library, MethodNames, Structs};
use quipu_jvm::sys::{self, JavaVMInitArgs, JavaVMOption, jint, jvalue, jvmtiEventCallbacks};
use quipu_jvm::{Capabilities, Capability, Cause, Class, Env, Jvm, Jvmti, NativeMethod, Phase};
use quipu_unwind::Memory;
use std::ffi::{CStr, CString, c_void};
use std::path::Path;
use std::process::Command;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

const LIBJVM: &str = "QUIPU_TEST_LIBJVM";

#[test]
fn every_jdk() {
    let mut ran = 0;
    for jdk in jdks::find() {
        let Some(libjvm) = jdk.libjvm() else { continue };
        let text = in_a_process(&libjvm, "inside_a_vm");
        assert!(text.contains(&format!("feature {}", jdk.feature)));
        // What -Xcheck:jni says when it is not content.
        for complaint in ["WARNING in native method", "FATAL ERROR", "Warning: SIG"] {
            assert!(!text.contains(complaint), "{complaint}");
        }
        in_a_process(&libjvm, "names_inside_a_vm");
        ran += 1;
    }
    if ran == 0 {
        println!("skipped: no JDK with libjvm.so found");
    }
}

/// Runs a test in a process of its own, for at most a minute; what it says.
fn in_a_process(libjvm: &Path, test: &str) -> String {
    let mut child = Command::new("timeout");
    child.arg("60").arg(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--ignored", "--nocapture"]);
    let output = child.env(LIBJVM, libjvm).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    println!("{}:\n{text}", libjvm.display());
    assert!(output.status.success(), "{test} with {}: {}", libjvm.display(), output.status);
    text.into_owned()
}

#[test]
#[ignore = "run by every_jdk, in a process of its own, since it has a signal handler"]
fn names_inside_a_vm() {
    let jvm = create_vm(c"-Xss512k");
    let jvmti = jvm.jvmti().unwrap();
    jvmti.add_available_capabilities(&Capabilities::of(&[Capability::CAN_GET_LINE_NUMBERS])).unwrap();
    jvm.with_env(|env| names_of_methods(env, jvm, jvmti)).unwrap();
}

#[test]
#[ignore = "run by every_jdk, in a process of its own"]
fn inside_a_vm() {
    let jvm = create_vm(c"-Xcheck:jni");
    let jvmti = jvm.jvmti().unwrap();
    let version = quipu_jvm::jdk_version(jvmti).unwrap();
    println!("feature {} {version:?}", version.feature);
    assert!(version.home.len() > 1 && !version.mode.is_empty());
    assert_eq!(jvmti.phase().unwrap(), Phase::Live);
    assert!(jvmti.version().unwrap() >= sys::JVMTI_VERSION_1_2);

    capabilities(jvmti);
    jvm.with_env(|env| {
        strings_and_arrays(env);
        calls_and_fields(env);
        exceptions(env);
        natives(env);
        classes(env, jvmti);
        modules(env, jvmti, version.feature);
        threads_and_stacks(env, jvmti);
        retransform(env, jvmti);
    })
    .unwrap();
    other_threads(jvm, jvmti);
    let error = jvmti.system_property(c"no.such.property").unwrap_err();
    assert_eq!(error.to_string(), "GetSystemProperty failed: JVMTI_ERROR_NOT_AVAILABLE");
    assert_eq!(jvmti.error_name(&error).unwrap(), "JVMTI_ERROR_NOT_AVAILABLE");
    unsafe { jvmti.dispose() }.unwrap();
}

fn create_vm(option: &CStr) -> Jvm {
    type Create = unsafe extern "C" fn(*mut *mut sys::JavaVM, *mut *mut c_void, *mut c_void) -> jint;
    let libjvm = CString::new(std::env::var(LIBJVM).unwrap()).unwrap();
    let mut options = [option, c"-Xshare:auto", c"-Xmx64m"]
        .map(|option| JavaVMOption { optionString: option.as_ptr().cast_mut(), extraInfo: null_mut() });
    let mut args = JavaVMInitArgs {
        version: sys::JNI_VERSION_1_6,
        nOptions: options.len() as jint,
        options: options.as_mut_ptr(),
        ignoreUnrecognized: false,
    };
    let (mut vm, mut env) = (null_mut(), null_mut());
    unsafe {
        let library = libc::dlopen(libjvm.as_ptr(), libc::RTLD_NOW);
        assert!(!library.is_null(), "cannot load {libjvm:?}");
        let create = libc::dlsym(library, c"JNI_CreateJavaVM".as_ptr());
        assert!(!create.is_null());
        let create: Create = std::mem::transmute(create);
        assert_eq!(create(&mut vm, &mut env, (&raw mut args).cast()), sys::JNI_OK);
        Jvm::from_raw(vm).unwrap()
    }
}

fn capabilities(jvmti: Jvmti) {
    let wanted = Capabilities::of(&[
        Capability::CAN_RETRANSFORM_CLASSES,
        Capability::CAN_GET_LINE_NUMBERS,
        Capability::CAN_GET_CURRENT_THREAD_CPU_TIME,
        Capability::CAN_GENERATE_EARLY_VMSTART,
    ]);
    let missing = jvmti.add_available_capabilities(&wanted).unwrap();
    // Early events exist only before the VM starts.
    assert_eq!(missing.iter().collect::<Vec<_>>(), [Capability::CAN_GENERATE_EARLY_VMSTART]);
    assert_eq!(jvmti.capabilities().unwrap().and(&wanted), wanted.without(&missing));
    assert!(jvmti.current_thread_cpu_time().unwrap() > 0);
    jvmti.relinquish_capabilities(&Capabilities::of(&[Capability::CAN_GET_CURRENT_THREAD_CPU_TIME])).unwrap();
    let error = jvmti.current_thread_cpu_time().unwrap_err();
    assert!(error.is(sys::JVMTI_ERROR_MUST_POSSESS_CAPABILITY), "{error}");
}

fn strings_and_arrays(env: &mut Env<'_>) {
    for text in ["", "plain", "nul\0inside", "a𝄞b"] {
        assert_eq!(env.text(env.new_text(text).unwrap()), text);
    }
    let bytes: Vec<u8> = (0..=255).collect();
    let array = env.new_byte_array(&bytes).unwrap();
    assert_eq!(unsafe { env.byte_array(array) }, bytes);
    assert!(env.as_text(array).is_none());

    let string = env.find_class(c"java/lang/String").unwrap();
    let array = env.new_array(string, 2).unwrap();
    let text = env.new_text("x").unwrap();
    env.array_set(array, 1, Some(text.object())).unwrap();
    assert_eq!(env.array_length(array), 2);
    assert!(env.array_get(array, 0).unwrap().is_none());
    assert!(env.same(env.array_get(array, 1).unwrap().unwrap(), text));
    let error = env.array_get(array, 2).unwrap_err();
    assert!(error.to_string().contains("ArrayIndexOutOfBoundsException"), "{error}");
}

fn calls_and_fields(env: &mut Env<'_>) {
    let integer = env.find_class(c"java/lang/Integer").unwrap();
    let parse = env.static_method(integer, c"parseInt", c"(Ljava/lang/String;I)I").unwrap();
    let text = env.new_text("7f").unwrap();
    let args = [jvalue { l: text.raw() }, jvalue { i: 16 }];
    assert_eq!(unsafe { env.call_static_int(integer, parse, &args) }.unwrap(), 127);

    let most = env.static_field(integer, c"MAX_VALUE", c"I").unwrap();
    assert_eq!(unsafe { env.static_int(integer, most) }, i32::MAX);
    let constructor = env.method(integer, c"<init>", c"(I)V").unwrap();
    let number = unsafe { env.new_object(integer, constructor, &[jvalue { i: 42 }]) }.unwrap();
    let value = env.field(integer, c"value", c"I").unwrap();
    assert_eq!(unsafe { env.int_field(number, value) }, 42);
    let long_value = env.method(integer, c"longValue", c"()J").unwrap();
    assert_eq!(unsafe { env.call_long(number, long_value, &[]) }.unwrap(), 42);
    let number_class = env.find_class(c"java/lang/Number").unwrap();
    assert!(env.is_instance(number, number_class) && env.is_assignable(integer, number_class));
    assert!(env.same(env.superclass(integer).unwrap(), number_class));

    let global = env.new_global(number).unwrap();
    assert!(env.same(global.get(), number));
    env.delete_global(global);
    // Far more references than a frame has room for, each gone with its frame.
    for _ in 0..10_000 {
        env.with_frame(4, |env| env.new_text("x").map(|_| ())).unwrap().unwrap();
    }

    let mut memory = [1_u8, 2, 3, 4];
    let buffer = unsafe { env.new_direct_byte_buffer(memory.as_mut_ptr(), memory.len()) }.unwrap();
    let class = env.class_of(buffer).unwrap();
    let get = env.method(class, c"getInt", c"()I").unwrap();
    assert_eq!(unsafe { env.call_int(buffer, get, &[]) }.unwrap(), 0x0102_0304);
}

fn exceptions(env: &mut Env<'_>) {
    let error = env.find_class(c"no/such/Thing").unwrap_err();
    assert_eq!(error.to_string(), "FindClass threw java.lang.NoClassDefFoundError: no/such/Thing");
    assert!(!env.exception_pending());
    let integer = env.find_class(c"java/lang/Integer").unwrap();
    let parse = env.static_method(integer, c"parseInt", c"(Ljava/lang/String;)I").unwrap();
    let text = env.new_text("x").unwrap();
    let error = unsafe { env.call_static_int(integer, parse, &[jvalue { l: text.raw() }]) }.unwrap_err();
    let Cause::Exception(text) = error.cause else { panic!("{error}") };
    assert_eq!(text, "java.lang.NumberFormatException: For input string: \"x\"");
    assert!(env.static_method(integer, c"none", c"()V").is_err());
    assert!(env.define_class(c"Broken", None, b"not a class").is_err());
}

/// `class Native { static native int add(int a, int b); }`, written out: no compiler needed.
fn native_class() -> Vec<u8> {
    let mut class = vec![0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 52, 0, 7];
    for text in ["Native", "java/lang/Object", "add", "(II)I"] {
        class.extend([1, 0, text.len() as u8]);
        class.extend(text.bytes());
    }
    class.extend([7, 0, 1, 7, 0, 2]); // #5, #6: the classes
    class.extend([0, 0x20, 0, 5, 0, 6, 0, 0, 0, 0, 0, 1]); // super, this, super, no interfaces or fields, one method
    class.extend([0x01, 0x08, 0, 3, 0, 4, 0, 0, 0, 0]); // static native, no attributes
    class
}

extern "system" fn add(_env: *mut sys::JNIEnv, _class: sys::jclass, a: jint, b: jint) -> jint {
    a + b
}

fn natives(env: &mut Env<'_>) {
    let class = env.define_class(c"Native", None, &native_class()).unwrap();
    let method = NativeMethod { name: c"add", descriptor: c"(II)I", function: add as *mut c_void };
    unsafe { env.register_natives(class, &[method]) }.unwrap();
    let id = env.static_method(class, c"add", c"(II)I").unwrap();
    assert_eq!(unsafe { env.call_static_int(class, id, &[jvalue { i: 2 }, jvalue { i: 3 }]) }.unwrap(), 5);
}

fn classes(env: &mut Env<'_>, jvmti: Jvmti) {
    let count = env.with_frame(64, |env| {
        let classes = jvmti.loaded_classes(env).unwrap();
        let signatures: Vec<String> =
            classes.iter().map(|class| jvmti.class_signature(*class).unwrap().to_string()).collect();
        assert!(signatures.iter().any(|signature| signature == "Ljava/lang/Object;"));
        let arrays = classes.iter().filter(|class| jvmti.is_array(**class).unwrap()).count();
        let starting = signatures.iter().filter(|signature| signature.starts_with('[')).count();
        assert_eq!(arrays, starting);
        classes.len()
    });
    assert!(count.unwrap() > 300);

    let list = env.find_class(c"java/util/List").unwrap();
    assert!(jvmti.is_interface(list).unwrap() && jvmti.is_modifiable(list).unwrap());
    assert!(jvmti.class_loader(env, list).unwrap().is_none());
    assert!(jvmti.class_status(list).unwrap() & sys::JVMTI_CLASS_STATUS_VERIFIED != 0);
    let methods = jvmti.class_methods(list).unwrap();
    let named = |wanted: &str| {
        methods
            .iter()
            .find(|id| jvmti.method_name(**id).unwrap().name.to_string() == wanted)
            .copied()
            .unwrap()
    };
    let sort = named("sort");
    assert_eq!(jvmti.method_name(sort).unwrap().descriptor.as_bytes(), b"(Ljava/util/Comparator;)V");
    assert!(env.same(jvmti.declaring_class(env, sort).unwrap(), list));
    assert!(jvmti.line_numbers(sort).unwrap().first().unwrap().line_number > 1);
    assert_eq!(jvmti.method_modifiers(sort).unwrap() & 1, 1);
    assert!(!jvmti.is_obsolete(sort).unwrap());
    let missing = std::path::Path::new("/nowhere/to/be/found.jar");
    assert!(jvmti.add_to_system_class_loader_search(missing).is_err());
}

fn modules(env: &mut Env<'_>, jvmti: Jvmti, feature: u32) {
    let object = env.find_class(c"java/lang/Object").unwrap();
    if feature < 9 {
        assert_eq!(jvmti.all_modules(env).unwrap_err().cause, Cause::Unavailable);
        assert_eq!(env.module_of(object).unwrap_err().cause, Cause::Unavailable);
        return;
    }
    let base = env.module_of(object).unwrap();
    assert!(env.same(jvmti.named_module(env, None, c"java/lang").unwrap().unwrap(), base));
    assert!(jvmti.named_module(env, None, c"no/such/thing").unwrap().is_none());
    assert!(jvmti.all_modules(env).unwrap().iter().any(|module| env.same(*module, base)));
    let unnamed = env.module_of(env.find_class(c"Native").unwrap()).unwrap();
    jvmti.add_module_reads(base, unnamed).unwrap();
    jvmti.add_module_exports(base, c"jdk.internal.misc", unnamed).unwrap();
    jvmti.add_module_opens(base, c"java.lang", unnamed).unwrap();
    assert!(jvmti.add_module_opens(base, c"no.such.thing", unnamed).is_err());
}

fn threads_and_stacks(env: &mut Env<'_>, jvmti: Jvmti) {
    let current = jvmti.current_thread(env).unwrap();
    let info = jvmti.thread_info(env, None).unwrap();
    assert_eq!(info.name.to_string(), "main");
    assert!(!info.is_daemon && info.group.is_some() && info.priority == 5 && !env.is_virtual(current));
    let threads = jvmti.all_threads(env).unwrap();
    assert!(threads.iter().any(|thread| env.same(*thread, current)));
    let finalizer = |thread: &&quipu_jvm::Thread<'_>| {
        jvmti.thread_info(env, Some(**thread)).unwrap().name.to_string() == "Finalizer"
    };
    let finalizer = threads.iter().find(finalizer).copied().unwrap();
    let mut frames = [sys::jvmtiFrameInfo { method: null_mut(), location: 0 }; 32];
    let depth = jvmti.stack_trace(Some(finalizer), 0, &mut frames).unwrap();
    let name = |frame: &sys::jvmtiFrameInfo| {
        let method = unsafe { quipu_jvm::MethodId::from_raw(frame.method) };
        jvmti.method_name(method).unwrap().name.to_string()
    };
    assert!(frames[..depth].iter().map(name).any(|name| name == "run"));
    assert_eq!(jvmti.stack_trace(None, 0, &mut frames).unwrap(), 0);
    assert!(jvmti.thread_state(None).unwrap() & sys::JVMTI_THREAD_STATE_ALIVE != 0);
    jvmti.set_thread_local_storage(None, 0x1234 as *mut c_void).unwrap();
    assert_eq!(jvmti.thread_local_storage(None).unwrap() as usize, 0x1234);
    jvmti.set_thread_local_storage(None, null_mut()).unwrap();
}

static BEFORE: Mutex<Option<libc::sigaction>> = Mutex::new(None);

extern "C" fn recover(signal: i32, info: *mut libc::siginfo_t, ucontext: *mut c_void) {
    if unsafe { Memory::recover(ucontext) } {
        return;
    }
    let before = BEFORE.lock().unwrap().unwrap().sa_sigaction;
    let before: extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void) =
        unsafe { std::mem::transmute(before) };
    before(signal, info, ucontext);
}

/// Names that are read where they lie are those that the VM tells, and an id that is none has none.
fn names_of_methods(env: &mut Env<'_>, jvm: Jvm, jvmti: Jvmti) {
    let before = unsafe {
        let (mut before, mut ours): (libc::sigaction, libc::sigaction) = std::mem::zeroed();
        libc::sigaction(libc::SIGSEGV, std::ptr::null(), &mut before);
        *BEFORE.lock().unwrap() = Some(before);
        ours.sa_sigaction = recover as extern "C" fn(_, _, _) as usize;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        libc::sigaction(libc::SIGSEGV, &ours, null_mut());
        before
    };
    let structs = Structs::of(Library::of(jvm).unwrap()).unwrap();
    let names = MethodNames::of(&structs, unsafe { Memory::guarded() }).expect("tables that say enough");
    jvmti.add_available_capabilities(&Capabilities::of(&[Capability::CAN_GET_SOURCE_FILE_NAME])).unwrap();
    let mut room = vec![0; 1 << 16];
    let (mut read, mut with_lines, mut native) = (0, 0, 0);
    env.with_frame(64, |env| {
        for class in jvmti.loaded_classes(env).unwrap() {
            let signature = jvmti.class_signature(class).unwrap().to_string();
            let source = jvmti.source_file_name(class).map(|source| source.to_string()).unwrap_or_default();
            for method in jvmti.class_methods(class).unwrap_or_default() {
                let id = method.raw() as usize;
                let found = names.read(id, &mut room).unwrap_or_else(|| panic!("no name in {signature}"));
                let told = jvmti.method_name(method).unwrap();
                let [class, name, descriptor, file] = found.texts(&room).map(String::from_utf8_lossy);
                assert_eq!(format!("L{};", class.replace("+0x", ".0x")), signature);
                assert_eq!(
                    (name.as_ref(), descriptor.as_ref()),
                    (&*told.name.to_string(), &*told.descriptor.to_string())
                );
                assert_eq!(file, source, "{signature}");
                assert_eq!(found.native, jvmti.method_modifiers(method).unwrap() & 0x100 != 0);
                let told: Vec<(u16, u16)> = jvmti
                    .line_numbers(method)
                    .unwrap_or_default()
                    .iter()
                    .map(|entry| (entry.start_location as u16, entry.line_number as u16))
                    .collect();
                assert_eq!(names.lines(id), told, "{signature}{name}");
                read += 1;
                with_lines += usize::from(!told.is_empty());
                native += usize::from(found.native);
                // There is no method a word further, and room for its names would not help if there were too little.
                for wrong in [id + 4, id | 1] {
                    assert_eq!(names.read(wrong, &mut room), None);
                }
                assert_eq!(names.read(id, &mut [0; 3]), None);
            }
        }
    })
    .unwrap();
    assert!(read > 3000 && with_lines > 2000 && native > 50, "{read} {with_lines} {native}");
    for nowhere in [0, 8, 0x1000, 0xdead_0000_0000_0000, usize::MAX - 7, &raw const room as usize] {
        assert_eq!(names.read(nowhere, &mut room), None);
        assert!(names.lines(nowhere).is_empty());
    }
    unsafe { libc::sigaction(libc::SIGSEGV, &before, null_mut()) };
}

static HOOKED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "system" fn hook(
    jvmti: *mut sys::jvmtiEnv,
    _: *mut sys::JNIEnv,
    redefined: sys::jclass,
    _: sys::jobject,
    _: *const std::ffi::c_char,
    _: sys::jobject,
    length: jint,
    bytes: *const u8,
    new_length: *mut jint,
    new_bytes: *mut *mut u8,
) {
    let jvmti = unsafe { Jvmti::from_raw(std::ptr::NonNull::new(jvmti).unwrap()) };
    if !redefined.is_null() {
        HOOKED.fetch_add(1, SeqCst);
        let bytes = unsafe { std::slice::from_raw_parts(bytes, length as usize) };
        let copy = jvmti.allocate_copy(bytes).unwrap();
        unsafe {
            new_length.write(length);
            new_bytes.write(copy.into_raw());
        }
    }
}

fn retransform(env: &mut Env<'_>, jvmti: Jvmti) {
    let callbacks = jvmtiEventCallbacks { ClassFileLoadHook: Some(hook), ..Default::default() };
    unsafe { jvmti.set_event_callbacks(&callbacks) }.unwrap();
    jvmti.set_event_mode(sys::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, true, None).unwrap();
    let names = [c"java/util/List", c"java/util/ArrayList", c"java/lang/String"];
    let classes: Vec<Class<'_>> = names.iter().map(|name| env.find_class(name).unwrap()).collect();
    jvmti.retransform_classes(&classes).unwrap();
    assert_eq!(HOOKED.load(SeqCst), classes.len());
    jvmti.set_event_mode(sys::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, false, None).unwrap();
    let array = env.find_class(c"[I").unwrap();
    assert!(jvmti.retransform_classes(&[array]).unwrap_err().is(sys::JVMTI_ERROR_UNMODIFIABLE_CLASS));
}

static AGENT: AtomicUsize = AtomicUsize::new(0);

unsafe extern "system" fn agent_thread(_: *mut sys::jvmtiEnv, _: *mut sys::JNIEnv, argument: *mut c_void) {
    AGENT.store(argument as usize, SeqCst);
}

fn other_threads(jvm: Jvm, jvmti: Jvmti) {
    std::thread::spawn(move || {
        assert!(jvm.with_env(|_| ()).is_err(), "not attached yet");
        let mut attached = jvm.attach_current_thread(c"quipu test").unwrap();
        let name = attached.with_env(|env| jvmti.thread_info(env, None).unwrap().name.to_string());
        assert_eq!(name.unwrap(), "quipu test");
        drop(jvm.attach_current_thread(c"nested").unwrap());
        jvm.with_env(|_| ()).unwrap();
        drop(attached);
        assert!(jvm.with_env(|_| ()).is_err(), "detached");
    })
    .join()
    .unwrap();
    jvm.with_env(|env| {
        let thread = env.new_thread("quipu agent").unwrap();
        unsafe { jvmti.run_agent_thread(env, thread, Some(agent_thread), 7 as *mut c_void, 5) }.unwrap();
    })
    .unwrap();
    for _ in 0..1000 {
        if AGENT.load(SeqCst) == 7 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the agent thread did not run");
}
