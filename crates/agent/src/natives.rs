//! The native methods of `java.quipu.Natives`. Called by the runtime on application threads, never on the way taken
//! often; each works on the session that registered it.

use std::ffi::{CStr, CString, c_void};
use std::sync::OnceLock;

use quipu_arena::layout::header;
use quipu_classfile::mutf8;
use quipu_jvm::hotspot::{Library, Structs};
use quipu_jvm::sys::{JNIEnv, jclass, jobject};
use quipu_jvm::{Capability, Env, FieldId, NativeMethod, Ref, Thread};

use crate::bytecodes;
use crate::engines::root;
use crate::guard::guarded;
use crate::pins;
use crate::session::Session;
use crate::sites::lasting;

/// The table to register.
pub fn table() -> [NativeMethod<'static>; 22] {
    let method = |name, descriptor, function| NativeMethod { name, descriptor, function };
    [
        method(c"base", c"()J", base as *mut c_void),
        method(c"sizes", c"()J", sizes as *mut c_void),
        method(c"sink", c"()J", sink as *mut c_void),
        method(c"direct", c"()Z", direct as *mut c_void),
        method(c"offset", c"(Ljava/lang/Class;Ljava/lang/String;)J", offset as *mut c_void),
        method(c"maxDepth", c"()I", max_depth as *mut c_void),
        method(c"sites", c"()Z", sites as *mut c_void),
        method(c"chunk", c"(IJ)J", chunk as *mut c_void),
        method(c"group", c"(Ljava/lang/Thread;)I", group as *mut c_void),
        method(c"stay", c"(Ljava/lang/Thread;I)V", stay as *mut c_void),
        method(c"tree", c"(II)V", tree as *mut c_void),
        method(c"tallies", c"()Z", tallies as *mut c_void),
        method(c"tally", c"(II)J", tally as *mut c_void),
        method(c"unreadTally", c"()J", unread_tally as *mut c_void),
        method(c"scratch", c"()J", scratch as *mut c_void),
        method(c"ledger", c"(IJJ)J", ledger as *mut c_void),
        method(c"kind", c"(ILjava/lang/Object;)J", kind as *mut c_void),
        method(c"sizeOf", c"(Ljava/lang/Object;)J", size_of as *mut c_void),
        method(c"klassOffset", c"()I", klass_offset as *mut c_void),
        method(c"layoutOffset", c"()I", layout_offset as *mut c_void),
        method(c"reached", c"(I)V", reached as *mut c_void),
        method(c"reflected", c"(Ljava/lang/Object;)V", reflected as *mut c_void),
    ]
}

extern "system" fn base(_: *mut JNIEnv, _: jclass) -> i64 {
    guarded(0, || Session::get().map_or(0, |s| s.arena.base() as i64))
}

extern "system" fn sizes(_: *mut JNIEnv, _: jclass) -> i64 {
    guarded(0, || Session::get().map_or(0, |s| s.registry.sizes() as i64))
}

extern "system" fn sink(_: *mut JNIEnv, _: jclass) -> i64 {
    guarded(0, || Session::get().map_or(0, |s| s.next_sink() as i64))
}

extern "system" fn direct(_: *mut JNIEnv, _: jclass) -> u8 {
    guarded(0, || Session::get().is_some_and(Session::is_direct).into())
}

/// Types of the fields that the runtime asks for.
const FIELD_TYPES: [&CStr; 2] = [c"J", c"Ljava/quipu/Link;"];

extern "system" fn offset(env: *mut JNIEnv, _: jclass, class: jclass, field: jobject) -> i64 {
    guarded(-1, || {
        // SAFETY: the VM passes this thread's environment, a class and a string.
        let (env, class, name) =
            match unsafe { (Env::from_raw(env), Ref::from_raw(class), Ref::from_raw(field)) } {
                (Some(env), Some(class), Some(name)) => (env, class, name),
                _ => return -1,
            };
        let name = env.as_text(name).map(|name| env.text(name)).and_then(|name| CString::new(name).ok());
        let Some(name) = name else { return -1 };
        let found = FIELD_TYPES.iter().find_map(|descriptor| env.field(class, &name, descriptor).ok());
        found.and_then(|field| i64::try_from(field.offset()).ok()).unwrap_or(-1)
    })
}

extern "system" fn max_depth(_: *mut JNIEnv, _: jclass) -> i32 {
    guarded(i32::MAX, || {
        Session::get().map_or(i32::MAX, |s| i32::try_from(s.options().max_depth).unwrap_or(i32::MAX))
    })
}

extern "system" fn sites(_: *mut JNIEnv, _: jclass) -> u8 {
    guarded(0, || Session::get().is_some_and(|s| s.options().sites).into())
}

extern "system" fn chunk(_: *mut JNIEnv, _: jclass, tree: i32, bytes: i64) -> i64 {
    guarded(0, || {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let chunk = Session::get().and_then(|s| s.arena.add_nodes(tree as u32, bytes));
        chunk.map_or(0, |address| address as i64)
    })
}

extern "system" fn ledger(_: *mut JNIEnv, _: jclass, tree: i32, entries: i64, replaces: i64) -> i64 {
    guarded(0, || {
        let (Ok(entries), Ok(replaces)) = (u64::try_from(entries), u64::try_from(replaces)) else { return 0 };
        let chunk = Session::get().and_then(|s| s.arena.add_ledger(tree as u32, entries, replaces));
        chunk.map_or(0, |address| address as i64)
    })
}

/// The number of a site for objects of a class, and above it the size of an instance; for arrays less than 0: see `Kinds.Kind`.
/// Without an object, of those that are not told apart.
extern "system" fn kind(env: *mut JNIEnv, _: jclass, site: i32, object: jobject) -> i64 {
    guarded(0, || {
        // SAFETY: the VM passes this thread's environment and a local reference that lasts for this call, or null.
        let passed = unsafe { (Env::from_raw(env), Ref::from_raw(object)) };
        let (Some(env), Some(session)) = (passed.0, Session::get()) else { return 0 };
        let Some(object) = passed.1 else {
            return session.sites.meet(&session.arena, site as u32, b"[other]").map_or(0, i64::from);
        };
        let Ok(class) = env.class_of(object) else { return 0 };
        let Ok(signature) = session.jvmti.class_signature(class) else { return 0 };
        let name = signature.as_bytes();
        let size = match name {
            [b'[', element, ..] => -match element {
                b'Z' | b'B' => 1,
                b'C' | b'S' => 2,
                b'I' | b'F' => 4,
                b'J' | b'D' => 8,
                _ => 16,
            },
            _ => session.jvmti.object_size(object).unwrap_or(0),
        };
        let number = session.sites.meet(&session.arena, site as u32, &lasting(name));
        number.map_or(0, |number| size << 32 | i64::from(number))
    })
}

extern "system" fn size_of(_: *mut JNIEnv, _: jclass, object: jobject) -> i64 {
    guarded(0, || {
        // SAFETY: the VM passes a local reference that lasts for this call.
        let object = unsafe { Ref::from_raw(object) };
        let size = Session::get().zip(object).map(|(session, object)| session.jvmti.object_size(object));
        size.and_then(Result::ok).unwrap_or(0)
    })
}

/// Where classes have what the VM knows of them.
extern "system" fn klass_offset(_: *mut JNIEnv, _: jclass) -> i32 {
    guarded(-1, || {
        let structs = Session::get().and_then(|s| Library::of(s.vm)).and_then(Structs::of);
        let field = structs.and_then(|structs| structs.address(c"java_lang_Class", c"_klass_offset"));
        // SAFETY: a static variable of this type, which the VM has set long since.
        field.map_or(-1, |field| unsafe { field.cast::<i32>().read() })
    })
}

/// Where the VM has the size of instances of a class.
extern "system" fn layout_offset(_: *mut JNIEnv, _: jclass) -> i32 {
    guarded(-1, || {
        let structs = Session::get().and_then(|s| Library::of(s.vm)).and_then(Structs::of);
        let offset = structs.and_then(|structs| structs.offset(c"Klass", c"_layout_helper"));
        offset.and_then(|offset| i32::try_from(offset).ok()).unwrap_or(-1)
    })
}

/// Group of threads that are not to be counted, as `Cursor` has it.
const UNCOUNTED: i32 = -2;

extern "system" fn group(env: *mut JNIEnv, _: jclass, thread: jobject) -> i32 {
    guarded(-1, || {
        // SAFETY: the VM passes this thread's environment and a local reference that lasts for this call.
        let named = unsafe {
            with_name(env, thread, |session, name, is_virtual| {
                if !session.groups.wants(name) || session.options().deterministic && pins::is_jvms_own(name) {
                    return UNCOUNTED;
                }
                let group = session.groups.join(&session.arena, name, is_virtual);
                group.and_then(|id| i32::try_from(id).ok()).unwrap_or(-1)
            })
        };
        named.unwrap_or(-1)
    })
}

extern "system" fn stay(env: *mut JNIEnv, _: jclass, thread: jobject, group: i32) {
    guarded((), || {
        // SAFETY: as above.
        unsafe {
            with_name(env, thread, |session, name, is_virtual| {
                session.groups.stay(&session.arena, group as u32, name, is_virtual);
            })
        };
    });
}

/// Looks at a thread: the session, the thread's name, and whether it is virtual.
///
/// # Safety
/// `env` is this thread's environment, `thread` null or a reference of this thread's to one.
unsafe fn with_name<T>(
    env: *mut JNIEnv,
    thread: jobject,
    look: impl FnOnce(&Session, &[u8], bool) -> T,
) -> Option<T> {
    // SAFETY: the caller's promise.
    let (env, thread) = unsafe { (Env::from_raw(env)?, Ref::from_raw(thread)?) };
    let session = Session::get()?;
    if let Some(name) = name_in_field(session, &env, thread) {
        return Some(look(session, mutf8::encode(&name).as_bytes(), env.is_virtual(thread)));
    }
    let info = session.jvmti.thread_info(&env, Some(thread));
    let name = info.as_ref().map_or(&b"?"[..], |info| info.name.as_bytes());
    Some(look(session, name, env.is_virtual(thread)))
}

/// The name of a thread, from its field: where there are virtual threads, JVMTI waits until none is just being mounted, and
/// the current thread may be in the middle of that. `None` where there are none.
fn name_in_field(session: &Session, env: &Env<'_>, thread: Thread<'_>) -> Option<String> {
    static FIELD: OnceLock<Option<FieldId>> = OnceLock::new();
    let found = || {
        let capabilities = session.jvmti.capabilities().ok()?;
        let class = env.find_class(c"java/lang/Thread").ok()?;
        let has_virtual = capabilities.contains(Capability::CAN_SUPPORT_VIRTUAL_THREADS);
        has_virtual.then(|| env.field(class, c"name", c"Ljava/lang/String;").ok()).flatten()
    };
    let field = (*FIELD.get_or_init(found))?;
    // SAFETY: every thread has that field, and it is a string.
    let name = unsafe { env.object_field(thread, field).map(|name| name.cast()) };
    Some(name.map_or_else(String::new, |name| env.text(name)))
}

extern "system" fn tree(_: *mut JNIEnv, _: jclass, tree: i32, group: i32) {
    guarded((), || {
        if let Some(session) = Session::get() {
            let record = quipu_arena::record::Record::Tree { id: tree as u32, group: group as u32 };
            // A full arena: the tree's counts are kept, under no name.
            let _ = session.arena.log(&record);
        }
    });
}

extern "system" fn reached(env: *mut JNIEnv, _: jclass, method: i32) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment.
        if let Some(env) = unsafe { Env::from_raw(env) } {
            root::reached(&env, method.cast_unsigned());
        }
    });
}

extern "system" fn reflected(env: *mut JNIEnv, _: jclass, method: jobject) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment and a local reference that lasts for this call.
        if let (Some(env), Some(method)) = unsafe { (Env::from_raw(env), Ref::from_raw(method)) } {
            root::reflected(&env, method);
        }
    });
}

extern "system" fn tallies(_: *mut JNIEnv, _: jclass) -> u8 {
    guarded(0, || Session::get().is_some_and(Session::has_tallies).into())
}

extern "system" fn tally(_: *mut JNIEnv, _: jclass, tree: i32, root: i32) -> i64 {
    guarded(0, || {
        let Some(session) = Session::get() else { return 0 };
        match session.arena.add_tally(tree as u32, root as u32) {
            Some(address) => address as i64,
            None => {
                session.count(header::REFUSED, 1);
                session.leave(b"a thread", "the arena has no room for its counts");
                0
            }
        }
    })
}

extern "system" fn unread_tally(_: *mut JNIEnv, _: jclass) -> i64 {
    guarded(0, || Session::get().and_then(Session::unread_tally).map_or(0, |address| address as i64))
}

extern "system" fn scratch(_: *mut JNIEnv, _: jclass) -> i64 {
    bytecodes::scratch()
}
