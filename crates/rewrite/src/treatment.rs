//! What is done with a method.

use quipu_classfile::{Method, access};

use crate::intrinsics;

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

/// A class, and methods of it.
type Named = (&'static [u8], &'static [&'static [u8]]);

/// Plain bytecode whose way depends on when the collector ran last, by class: what was collected, what references were
/// processed and what was finalised meanwhile. It is not the caller's doing.
const DEPENDS_ON_COLLECTOR: [Named; 24] = [
    (b"java/lang/ref/SoftReference", &[b"get"]),
    (b"java/lang/ref/ReferenceQueue", &[b"poll", b"remove", b"enqueue"]),
    (b"java/lang/ref/Finalizer", &[b"register"]),
    // Lists of what is to be cleaned, which lose entries when it was.
    (b"jdk/internal/ref/Cleaner", &[b"add", b"remove"]),
    (b"sun/misc/Cleaner", &[b"add", b"remove"]),
    (b"java/nio/BufferCleaner$CleanerList", &[b"insert", b"remove"]),
    (b"java/nio/BufferCleaner", &[b"tryCleaning", b"startCleaningThreadIfNeeded"]),
    (b"jdk/internal/ref/PhantomCleanable", &[b"insert", b"remove", b"isListEmpty"]),
    (b"jdk/internal/ref/WeakCleanable", &[b"insert", b"remove", b"isListEmpty"]),
    (b"jdk/internal/ref/SoftCleanable", &[b"insert", b"remove", b"isListEmpty"]),
    (b"jdk/internal/ref/CleanerImpl$CleanableList", &[b"insert", b"remove", b"isEmpty"]),
    // Waits for the collector if there is too much.
    (b"java/nio/Bits", &[b"reserveMemory", b"unreserveMemory"]),
    // Tables with keys that vanish. Those of thread locals go by a number that counts all there ever were, too.
    (
        b"java/util/WeakHashMap",
        &[b"clear", b"get", b"getEntry", b"containsKey", b"put", b"remove", b"removeMapping"],
    ),
    (
        b"java/lang/ThreadLocal$ThreadLocalMap",
        &[b"getEntry", b"getEntryAfterMiss", b"set", b"remove", b"clearStaleEntries"],
    ),
    (b"java/lang/ClassValue$ClassValueMap", &[b"checkCacheLoad", b"addToCache"]),
    (b"java/util/ResourceBundle", &[b"cleanUp"]),
    (b"java/util/logging/Level$KnownLevel", &[b"purge"]),
    (b"jdk/internal/logger/DefaultLoggerFinder$SharedLoggers", &[b"get"]),
    (b"sun/security/provider/FileInputStreamPool", &[b"getInputStream"]),
    (b"sun/security/util/MemoryCache", &[b"clear"]),
    (b"com/sun/beans/util/Cache", &[b"clear"]),
    (b"com/sun/jmx/mbeanserver/WeakIdentityHashMap", &[b"expunge"]),
    (b"sun/rmi/server/LoaderHandler", &[b"lookupLoader"]),
    (b"com/sun/org/apache/xerces/internal/jaxp/validation/SoftReferenceGrammarPool", &[b"clean"]),
];

/// What the JDK calls methods that take out of a table what was collected, in whatever class.
const CLEANING: [&[u8]; 17] = [
    b"cleanStaleEntries",
    b"cleanupCache",
    b"drainLoggerRefQueueBounded",
    b"drainRefQueue",
    b"drainRefQueueBounded",
    b"emptyQueue",
    b"expungeStaleAssociations",
    b"expungeStaleConnections",
    b"expungeStaleElements",
    b"expungeStaleEntries",
    b"expungeStaleExceptions",
    b"expungeStaleWrappers",
    b"processPhantomRefs",
    b"processQueue",
    b"removeEmptyReferences",
    b"removeStaleEntries",
    b"removeStaleReferences",
];
const PACKAGES_OF_JDK: [&[u8]; 5] = [b"java/", b"javax/", b"jdk/", b"sun/", b"com/sun/"];

/// Plain bytecode of the JDK that does more the first time, for the first caller that comes along, and keeps what came of it:
/// in a text, in a class, in a table. All methods where none is named.
const ONCE: [Named; 24] = [
    (b"java/lang/String", &[b"hashCode"]),
    (
        b"java/lang/Class",
        &[
            b"getName",
            b"getPackageName",
            b"getSimpleName",
            b"getCanonicalName",
            b"enumConstantDirectory",
            b"getEnumConstantsShared",
            b"reflectionData",
            b"privateGetDeclaredFields",
            b"privateGetDeclaredMethods",
            b"privateGetDeclaredConstructors",
            b"privateGetPublicFields",
            b"privateGetPublicMethods",
            b"getInterfaces",
            b"getGenericInfo",
            b"annotationData",
        ],
    ),
    (b"java/lang/reflect/Executable", &[b"declaredAnnotations"]),
    (b"java/lang/reflect/Field", &[b"declaredAnnotations"]),
    (b"java/lang/ThreadLocal", &[b"createMap"]),
    // Providers of algorithms are looked for, loaded and kept.
    (b"java/security/SecureRandom", &[b"getDefaultPRNG"]),
    (b"java/security/Provider", &[b"getService", b"getDefaultSecureRandomService"]),
    (
        b"java/security/Provider$Service",
        &[b"getImplClass", b"getDefaultConstructor", b"supportsParameter", b"hasKeyAttributes"],
    ),
    (b"javax/crypto/JceSecurity", &[]),
    (b"javax/crypto/JceSecurityManager", &[]),
    (b"javax/crypto/ProviderVerify", &[]),
    (b"sun/security/jca/GetInstance", &[]),
    (b"sun/security/jca/ProviderList", &[]),
    (b"sun/security/jca/Providers", &[]),
    // What languages and countries write numbers, dates and texts like.
    (b"java/nio/charset/Charset", &[b"lookup", b"lookup2"]),
    (b"java/util/Locale", &[b"getInstance", b"hashCode", b"toLanguageTag", b"toString", b"getDefault"]),
    (b"java/util/ResourceBundle", &[b"getBundle", b"getBundleImpl"]),
    (b"java/text/DecimalFormatSymbols", &[b"initialize"]),
    (b"java/util/TimeZone", &[b"getTimeZone", b"getDefault", b"getDefaultRef"]),
    (b"sun/util/locale/provider/LocaleProviderAdapter", &[]),
    (b"sun/util/locale/provider/LocaleServiceProviderPool", &[]),
    (b"sun/util/locale/provider/LocaleResources", &[]),
    (b"sun/util/locale/provider/CalendarDataUtility", &[]),
    (b"sun/util/resources/LocaleData", &[]),
];

/// Plain bytecode that looks through methods and constructors in the order of their addresses in the VM.
const DEPENDS_ON_ADDRESSES: [Named; 3] = [
    (b"java/lang/Class", &[b"getConstructor0", b"getMethod0", b"getMethodsRecursive", b"searchMethods"]),
    (b"java/lang/PublicMethods", &[b"merge"]),
    (b"java/lang/PublicMethods$MethodList", &[b"filter", b"merge", b"getMostSpecific"]),
];

/// Plain bytecode whose way depends on the clock: numbers that the system has drawn are used up in a tenth of a second, and a
/// calendar that is set to the current time has nothing to do if it was made in the same millisecond.
const DEPENDS_ON_CLOCK: [Named; 4] = [
    (b"java/text/SimpleDateFormat", &[b"initializeDefaultCentury"]),
    (b"sun/security/provider/NativePRNG", &RANDOM),
    (b"sun/security/provider/NativePRNG$Blocking", &RANDOM),
    (b"sun/security/provider/NativePRNG$NonBlocking", &RANDOM),
];
/// The same, and too much of what programs do to be hidden where it need not be the same in each run: a calendar that already
/// has the time it is set to leaves its fields as they are.
const AS_TIME_PASSES: [Named; 1] = [(b"java/util/Calendar", &[b"setTimeInMillis"])];
const RANDOM: [&[u8]; 3] = [b"engineNextBytes", b"engineGenerateSeed", b"engineSetSeed"];

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
const LINKING: [Named; 7] = [
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
    // A table whose keys vanish when the collector runs.
    (b"java/lang/invoke/MethodType$ConcurrentWeakInternSet", &[b"get", b"add"]),
];

/// Work of the JDK's own, whose amount is different each time: it is done because there is an agent that rewrites
/// classes, or starts the JDK's logging just to find that nobody listens.
const HOUSEKEEPING: [(&[u8], &[u8]); 5] = [
    (b"jdk/internal/module/Modules", b"transformedByAgent"),
    // Looks through what a module reads, which is more for modules with rewritten classes.
    (b"java/lang/Module", b"canRead"),
    (b"java/lang/Shutdown", b"logRuntimeExit"),
    // Called by the VM for every object that is to be finalised.
    (b"java/lang/ref/Finalizer", b"register"),
    // A map of the JDK's own with classes as keys, whose hash codes depend on all that was hashed before.
    (b"jdk/internal/reflect/Reflection", b"registerFilter"),
];

/// Tables of the JDK's own, of method types and locales: their keys vanish when the collector runs, and where a key is
/// depends on the hash codes of classes.
const TABLES: [&[u8]; 3] = [
    b"jdk/internal/util/ReferencedKeyMap",
    b"jdk/internal/util/ReferencedKeySet",
    // The one of locales in older releases.
    b"sun/util/locale/LocaleObjectCache",
];

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

/// The classes in which something is linked.
pub fn linkers() -> impl Iterator<Item = &'static [u8]> {
    LINKING.iter().map(|(owner, _)| *owner).chain([ACCESSORS.0])
}

/// Native, or replaced by the JIT with code of its own.
pub fn is_opaque(method: &Method<'_, '_>) -> bool {
    let key = (method.class().name(), method.name());
    let tables: [&[Named]; 3] = [&DEPENDS_ON_COLLECTOR, &DEPENDS_ON_CLOCK, &DEPENDS_ON_ADDRESSES];
    let depends =
        || tables.iter().any(|table| is_in(table, key)) || DEPENDS_ON_JIT.contains(&key) || cleans(key);
    if method.is(access::NATIVE) || depends() {
        return true;
    }
    let marked = INTRINSIC.iter().any(|annotation| method.has_annotation(annotation));
    marked && !RUNS_AS_BYTECODE.contains(&key) || intrinsics::of_jdk_8(method)
}

fn cleans((class, method): (&[u8], &[u8])) -> bool {
    CLEANING.contains(&method) && PACKAGES_OF_JDK.iter().any(|package| class.starts_with(package))
}

fn is_in(table: &[Named], (class, method): (&[u8], &[u8])) -> bool {
    let named = |methods: &[&[u8]]| match methods {
        [] => !method.starts_with(b"<"),
        _ => methods.contains(&method),
    };
    table.iter().any(|(owner, methods)| class == *owner && named(methods))
}

impl Treatment {
    /// Whether what the method calls is not counted below its caller, and it counts nothing itself.
    pub fn hides(self) -> bool {
        matches!(self, Treatment::Opaque | Treatment::Loading)
    }

    /// Decides for a method of a class that may be touched. What is only done once, or if time has passed, is hidden if it is
    /// to be in no context.
    pub fn of(method: &Method<'_, '_>, untouchable: Option<&'static str>, hide_once: bool) -> Treatment {
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
        let key = (method.class().name(), name);
        if hide_once && (is_in(&ONCE, key) || is_in(&AS_TIME_PASSES, key)) {
            return Treatment::Opaque;
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
