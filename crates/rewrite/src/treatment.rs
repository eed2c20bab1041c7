//! What is done with a method.

use quipu_classfile::{Method, access};

/// What is done with a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// It has a context of its own below its caller's.
    Count,
    /// It has a context of its own below the root for class loading, whoever calls it.
    CountLoading,
    /// Native, or replaced by the JIT with code of its own: its callers count its calls. What it calls is hidden.
    Opaque,
    /// Not counted; what it calls goes below the root for class loading.
    Loading,
    /// Left as it is, and why.
    Leave(&'static str),
}

const INTRINSIC: [&[u8]; 2] =
    [b"Ljdk/internal/vm/annotation/IntrinsicCandidate;", b"Ljdk/internal/HotSpotIntrinsicCandidate;"];

/// Marks of methods in which the current thread is not the same throughout.
const CHANGES_THREAD: [&[u8]; 3] = [
    b"Ljdk/internal/vm/annotation/ChangesCurrentThread;",
    b"Ljdk/internal/vm/annotation/JvmtiMountTransition;",
    b"Ljdk/internal/vm/annotation/JvmtiHideEvents;",
];

/// Marked as intrinsic, but run as bytecode in every tier: the JIT only wants to recognise them on the stack.
const RUNS_AS_BYTECODE: [(&[u8], &[u8]); 3] = [
    (b"java/lang/reflect/Method", b"invoke"),
    (b"jdk/internal/reflect/Reflection", b"getCallerClass"),
    // Everything that a stream over a range does is below it.
    (b"java/util/stream/Streams$RangeIntSpliterator", b"forEachRemaining"),
];

/// Plain bytecode whose way depends on when the collector ran last.
const DEPENDS_ON_COLLECTOR: [(&[u8], &[u8]); 1] = [(b"java/lang/ref/SoftReference", b"get")];

/// Plain bytecode whose way depends on the JIT: the intrinsic in it leaves it more or less to do than its bytecode does.
const DEPENDS_ON_JIT: [(&[u8], &[u8]); 2] = [
    (b"jdk/internal/util/ArraysSupport", b"mismatch"),
    // Benchmarks let the JIT drop it, or have it look at random numbers now and then.
    (b"org/openjdk/jmh/infra/Blackhole", b"consume"),
];

/// What the VM calls, on the thread that executes or *compiles* some code, to load or link what that code names.
/// When that happens depends on the JIT, so it is kept apart from the contexts of the application; and so is what has to
/// do with a loader's table of locks, which has an entry for each class that was ever asked for.
const LOADING: [(&[u8], &[u8]); 7] = [
    (b"loadClass", b"(Ljava/lang/String;)Ljava/lang/Class;"),
    (b"loadClass", b"(Ljava/lang/Module;Ljava/lang/String;)Ljava/lang/Class;"),
    (b"getClassLoadingLock", b"(Ljava/lang/String;)Ljava/lang/Object;"),
    (b"loadClassInternal", b"(Ljava/lang/String;)Ljava/lang/Class;"),
    (b"checkPackageAccess", b"(Ljava/lang/Class;Ljava/security/ProtectionDomain;)V"),
    // The first call of a native method.
    (b"findNative", b"(Ljava/lang/ClassLoader;Ljava/lang/String;)J"),
    (b"findNative", b"(Ljava/lang/ClassLoader;Ljava/lang/Class;Ljava/lang/String;Ljava/lang/String;)J"),
];

/// Where call sites and method handles are linked: the VM's entrances, and what a handle does once, the first time it is
/// used or when it has been used often.
const LINKING: [(&[u8], &[&[u8]]); 6] = [
    (
        b"java/lang/invoke/MethodHandleNatives",
        &[
            b"linkCallSite",
            b"linkMethod",
            b"linkMethodHandleConstant",
            b"linkDynamicConstant",
            b"findMethodHandleType",
        ],
    ),
    (b"java/lang/invoke/DirectMethodHandle", &[b"ensureInitialized"]),
    (b"java/lang/invoke/LambdaForm", &[b"compileToBytecode"]),
    (b"java/lang/invoke/MethodHandle", &[b"asType", b"customize"]),
    (b"java/lang/invoke/MethodHandleImpl$CountingWrapper", &[b"maybeStopCounting"]),
    (b"java/lang/invoke/VarHandle", &[b"getMethodHandleUncached"]),
];

/// Work of the JDK's own, whose amount is different each time: it is done because there is an agent that rewrites
/// classes, or starts the JDK's logging just to find that nobody listens.
const HOUSEKEEPING: [(&[u8], &[u8]); 4] = [
    (b"jdk/internal/module/Modules", b"transformedByAgent"),
    // Looks through what a module reads, which is more for modules with rewritten classes.
    (b"java/lang/Module", b"canRead"),
    (b"java/lang/Shutdown", b"logRuntimeExit"),
    // A map of the JDK's own with classes as keys, whose hash codes depend on all that was hashed before.
    (b"jdk/internal/reflect/Reflection", b"registerFilter"),
];

/// Tables of the JDK's own, of method types and locales: their keys vanish when the collector runs, and where a key is
/// depends on the hash codes of classes.
const TABLES: [&[u8]; 2] = [b"jdk/internal/util/ReferencedKeyMap", b"jdk/internal/util/ReferencedKeySet"];

/// Where reflection makes what it calls methods through: linking too, with tables of the JDK's own that have classes as
/// keys and lose entries when the collector runs.
const ACCESSORS: (&[u8], [&[u8]; 3]) = (
    b"jdk/internal/reflect/ReflectionFactory",
    [b"newMethodAccessor", b"newConstructorAccessor", b"newFieldAccessor"],
);

/// Whether something is linked in a class.
pub fn links(class: &[u8]) -> bool {
    LINKING.iter().any(|(owner, _)| class == *owner)
}

/// Native, or replaced by the JIT with code of its own.
pub fn is_opaque(method: &Method<'_, '_>) -> bool {
    let key = (method.class().name(), method.name());
    if method.is(access::NATIVE) || DEPENDS_ON_COLLECTOR.contains(&key) || DEPENDS_ON_JIT.contains(&key) {
        return true;
    }
    INTRINSIC.iter().any(|annotation| method.has_annotation(annotation)) && !RUNS_AS_BYTECODE.contains(&key)
}

impl Treatment {
    /// Decides for a method of a class that may be touched.
    pub fn of(method: &Method<'_, '_>, untouchable: Option<&'static str>) -> Treatment {
        let name = method.name();
        if let Some(reason) = untouchable {
            let class = method.class().name();
            let links = LINKING.iter().any(|(owner, methods)| class == *owner && methods.contains(&name));
            return if links { Treatment::Loading } else { Treatment::Leave(reason) };
        }
        if method.is(access::ABSTRACT) {
            return Treatment::Leave("abstract");
        }
        if is_opaque(method) {
            return Treatment::Opaque;
        }
        if CHANGES_THREAD.iter().any(|annotation| method.has_annotation(annotation)) {
            return Treatment::Leave("runs while a thread changes its identity");
        }
        let in_table = TABLES.contains(&method.class().name()) && !name.starts_with(b"<");
        if in_table || HOUSEKEEPING.contains(&(method.class().name(), name)) {
            return Treatment::Opaque;
        }
        if method.class().name() == ACCESSORS.0 && ACCESSORS.1.contains(&name) {
            return Treatment::Loading;
        }
        if LOADING.contains(&(name, method.descriptor())) {
            return Treatment::CountLoading;
        }
        Treatment::Count
    }
}
