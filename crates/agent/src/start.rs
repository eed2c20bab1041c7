//! From a live VM to an instrumented one: the runtime is defined and bound, then what is loaded is retransformed.

use std::ffi::CStr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use quipu_jvm::jni::kind;
use quipu_jvm::{
    Capabilities, Capability, Class, Env, Error, Global, Jvmti, MethodId, Module, Thread, jdk_version, sys,
};

use quipu_rewrite::{Counting, Instrument, Plan};

use crate::agents;
use crate::bytecodes;
use crate::classes;
use crate::constants;
use crate::control;
use crate::dialect;
use crate::engine;
use crate::events::Listener;
use crate::huge;
use crate::locks::lock;
use crate::natives;
use crate::not_included;
use crate::options::Options;
use crate::own_thread;
use crate::pins;
use crate::session::Session;
use crate::stacks::{self, Wanted};
use crate::steering;
use crate::tallies;

/// Packages of `java.base` the runtime is made of.
const INTERNAL: [&CStr; 2] = [c"jdk.internal.misc", c"jdk.internal.vm.annotation"];

/// Held while a profile is begun or ended: one at a time.
pub static CHANGING: Mutex<()> = Mutex::new(());

/// What the agent calls in the runtime.
struct Runtime {
    probe: Global<kind::Class>,
    /// A thread has ended.
    end: MethodId,
    /// The current thread does something that is not the program's.
    aside: MethodId,
    /// A profile begins: threads keep their trees, or get new ones.
    go_on: MethodId,
    renew: MethodId,
    renew_thread: MethodId,
    ledger: Global<kind::Class>,
    /// Whether ledgers have contexts.
    contexts: MethodId,
    kinds: Global<kind::Class>,
    forget: MethodId,
}

static RUNTIME: OnceLock<Runtime> = OnceLock::new();

/// The thread has ended: its tree can go to the next one.
pub fn end_thread(env: &Env<'_>, thread: Thread<'_>) {
    let Some(runtime) = RUNTIME.get() else { return };
    // SAFETY: the method takes one thread and returns nothing.
    let ended =
        unsafe { env.call_static_void(runtime.probe.get(), runtime.end, &[sys::jvalue { l: thread.raw() }]) };
    // An exception here can only be a lack of memory; the tree is then not used again.
    let _ = ended;
}

/// The VM runs Java code on this thread while it rewrites classes, some of it rewritten already. That is not counted.
pub fn aside(env: &Env<'_>, begin: bool) -> Result<(), Error> {
    let Some(runtime) = RUNTIME.get() else { return Ok(()) };
    bytecodes::aside(env, begin)?;
    // SAFETY: the method takes one boolean and returns nothing.
    unsafe { env.call_static_void(runtime.probe.get(), runtime.aside, &[sys::jvalue { z: begin }]) }
}

/// Begins to measure as the options say.
pub fn start(session: &'static Session, env: &mut Env<'_>, options: &Options) -> Result<(), String> {
    begin_profile(session, env, options)?;
    // The program can be profiled without being steered.
    if let Err(error) = control::open(session, options.held) {
        session.leave(b"the control socket", &error.to_string());
    }
    if let Err(error) = steering::define(env) {
        session.leave(b"quipu.Profiler", &error.to_string());
    }
    if options.rewrites() {
        supported(session.jvmti)?;
    }
    engine::start(session, env, options)
}

/// The same after the delay that was asked for.
pub fn later(session: &Session, env: &Env<'_>) -> Result<(), Error> {
    own_thread::start(session.jvmti, env, "Quipu's delay", |env| {
        let Some(session) = Session::get() else { return };
        let options = session.options();
        std::thread::sleep(options.delay.unwrap_or_default());
        let _changing = lock(&CHANGING);
        // Somebody else may have come first.
        if engine::any(session) {
            return;
        }
        if let Err(why) = start(session, env, &options) {
            session.failed(&why);
        }
    })
}

/// Refuses JVMs that have not what the runtime is made of.
fn supported(jvmti: Jvmti) -> Result<(), String> {
    const OLDEST: u32 = 8;
    match jdk_version(jvmti) {
        Ok(version) if version.feature < OLDEST => Err(format!(
            "this is Java {}, and counting needs Java {OLDEST} or newer; --cpu and --wall need less",
            version.feature
        )),
        _ => Ok(()),
    }
}

/// A profile of its own begins: nothing that was measured before is in it.
pub fn begin_profile(session: &Session, env: &Env<'_>, options: &Options) -> Result<(), String> {
    let otherwise = session.begin_profile(&stacks::appenders(), options)?;
    describe(session);
    go_on(session, env, otherwise).map_err(|e| e.to_string())
}

/// Threads keep their trees, or get new ones if they are told apart in another way. Nothing if there are none yet.
fn go_on(session: &Session, env: &Env<'_>, otherwise: bool) -> Result<(), Error> {
    let Some(runtime) = RUNTIME.get() else { return Ok(()) };
    let class = runtime.probe.get();
    if !otherwise {
        // SAFETY: the method takes and returns nothing.
        return unsafe { env.call_static_void(class, runtime.go_on, &[]) };
    }
    // SAFETY: as above.
    unsafe { env.call_static_void(class, runtime.renew, &[])? };
    for thread in session.jvmti.all_threads(env)? {
        // SAFETY: the method takes one thread and returns nothing.
        unsafe { env.call_static_void(class, runtime.renew_thread, &[sys::jvalue { l: thread.raw() }])? };
    }
    Ok(())
}

/// Samples what is wanted. That runs a little Java code, which may be instrumented.
pub fn sample(session: &'static Session, env: &mut Env<'_>, wanted: &Wanted) -> Result<(), String> {
    aside(env, true).map_err(|e| e.to_string())?;
    let set = stacks::set(session, env, wanted);
    aside(env, false).map_err(|e| e.to_string())?;
    set
}

/// A kind that charges what the VM tells of to contexts begins to do so, or ends.
pub fn record(
    session: &'static Session,
    env: &mut Env<'_>,
    kind: &'static str,
    on: bool,
    options: &Options,
) -> Result<(), String> {
    let mut wanted = stacks::current();
    if on && !wanted.any() {
        // Otherwise all kinds have the threads that were chosen first.
        wanted.threads.clone_from(&options.threads);
    }
    wanted.recorded.retain(|&known| known != kind);
    if on {
        wanted.recorded.push(kind);
        // The VM tells nothing of what virtual threads do to those who have not said that they know them.
        let wanted = Capabilities::of(&[Capability::CAN_SUPPORT_VIRTUAL_THREADS]);
        session.jvmti.add_available_capabilities(&wanted).map_err(|e| e.to_string())?;
    }
    sample(session, env, &wanted)
}

/// What instrumentation needs of the VM; sampling must not pay for it.
pub fn add_capabilities(jvmti: Jvmti) -> Result<(), Error> {
    let needed = [
        Capability::CAN_RETRANSFORM_CLASSES,
        Capability::CAN_GENERATE_ALL_CLASS_HOOK_EVENTS,
        Capability::CAN_TAG_OBJECTS,
    ];
    jvmti.add_capabilities(&Capabilities::of(&needed))?;
    // Nice to have: without it, trees of virtual threads are not reused.
    let wanted = [Capability::CAN_RETRANSFORM_ANY_CLASS, Capability::CAN_SUPPORT_VIRTUAL_THREADS];
    jvmti.add_available_capabilities(&Capabilities::of(&wanted)).map(drop)
}

/// Defines the runtime and pins what is to be pinned, once; nothing is counted yet.
pub fn prepare(session: &'static Session, env: &Env<'_>) -> Result<(), Error> {
    if session.options().deterministic {
        pins::pin(session, env);
    }
    if RUNTIME.get().is_some() {
        return Ok(());
    }
    add_capabilities(session.jvmti)?;
    session.listen(Listener::Instrumentation, sys::JVMTI_EVENT_THREAD_END, true)?;
    if session.jvmti.capabilities()?.contains(Capability::CAN_SUPPORT_VIRTUAL_THREADS) {
        session.listen(Listener::Instrumentation, sys::JVMTI_EVENT_VIRTUAL_THREAD_END, true)?;
    }
    define_runtime(env, session.jvmti)
}

/// Has the VM's classes rewritten so that they count, as the options say.
pub fn instrument(session: &'static Session, env: &mut Env<'_>, options: &Options) -> Result<(), Error> {
    let began = Instant::now();
    prepare(session, env)?;
    let mut plan = options.plan();
    plan.direct = session.is_direct();
    // What other kinds insert goes in by the same way; what is there already stays.
    plan.others = session.plan().map(|plan| plan.others.clone()).unwrap_or_default();
    for other in engine::instruments(session, env, options)? {
        add(&mut plan, other);
    }
    if let Some(wanted) = &options.bytecodes {
        bytecodes::define(session, env, wanted)?;
    }
    if let Some(agent) = &options.agent {
        match agents::install(session, env, agent, plan.samples_bytecodes()) {
            Ok(()) => plan.activation = true,
            Err(error) => {
                eprintln!("quipu: profiling without the agent {}: {error}", agent.class);
                session.note("start.without agent", &agent.class);
            }
        }
    }
    if plan.samples_bytecodes() {
        bytecodes::start_all(session, env)?;
    }
    if plan.tallies() && !tallies::begin(session, env)? {
        session.leave(b"every class", "the arena has no room for tallies");
        session.failed("the arena has no room for tallies: give it more with --arena-limit");
        return Ok(());
    }
    if let Some((file, _)) = &options.weights {
        session.note("option.weights", file);
    }
    if options.chosen.has("blocks") || options.chosen.has("allocations") {
        // Code of an earlier profile may still count blocks where this one does not.
        session.note("counts.blocks", "");
    }
    session.note("kind", if plan.samples_bytecodes() { "bytecodes" } else { "exact" });
    rewrite(session, env, plan)?;
    // The runtime's classes, which differ with what is inserted, have been given hash codes.
    pins::begin_hashing(session, env);
    session.note("start.nanos", &began.elapsed().as_nanos().to_string());
    Ok(())
}

/// Classes are rewritten by this plan from now on, and those that are loaded at once.
fn rewrite(session: &'static Session, env: &mut Env<'_>, mut plan: Plan) -> Result<(), Error> {
    plan.longest = huge::allow(session.vm);
    session.set_plan(Some(plan));
    session.listen(Listener::Instrumentation, sys::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, true)?;
    let Some(plan) = session.plan() else { return Ok(()) };
    constants::keep(session, env);
    if !plan.publishes() {
        stacks::instrumented(session, env);
    }
    aside(env, true)?;
    keep_contexts(env, plan.publishes())?;
    let rewritten = retransform(session, env, &plan);
    aside(env, false)?;
    rewritten?;
    stacks::instrumented(session, env);
    Ok(())
}

/// Ledgers have contexts from now on, or no more.
fn keep_contexts(env: &Env<'_>, kept: bool) -> Result<(), Error> {
    let Some(runtime) = RUNTIME.get() else { return Ok(()) };
    // SAFETY: the method takes one boolean and returns nothing.
    unsafe { env.call_static_void(runtime.ledger.get(), runtime.contexts, &[sys::jvalue { z: kept }]) }
}

/// Nothing is remembered of the classes that instructions have met: they must be able to go.
fn forget_kinds(env: &Env<'_>) -> Result<(), Error> {
    let Some(runtime) = RUNTIME.get() else { return Ok(()) };
    // SAFETY: the method takes and returns nothing.
    unsafe { env.call_static_void(runtime.kinds.get(), runtime.forget, &[]) }
}

/// Adds an instrument to a plan that does not have it.
fn add(plan: &mut Plan, instrument: Arc<dyn Instrument>) {
    plan.others.retain(|other| other.name() != instrument.name());
    plan.others.push(instrument);
}

/// Inserts the code of one kind into all classes, beside what is there. Nothing if it is there already: what counts takes with it
/// what the other kinds insert that were chosen ([`engine::instruments`]), so that classes are rewritten once.
pub fn insert(
    session: &'static Session,
    env: &mut Env<'_>,
    options: &Options,
    instrument: Arc<dyn Instrument>,
) -> Result<(), Error> {
    let current = session.plan();
    if current.as_ref().is_some_and(|plan| plan.others.iter().any(|other| other.name() == instrument.name()))
    {
        return Ok(());
    }
    prepare(session, env)?;
    let mut plan = current.map_or_else(
        || Plan { counting: Counting::Off, direct: session.is_direct(), ..options.plan() },
        |plan| Plan::clone(&plan),
    );
    add(&mut plan, instrument);
    rewrite(session, env, plan)
}

/// Takes the code of one kind out of all classes again; nothing if it is not there.
pub fn take_out(session: &'static Session, env: &mut Env<'_>, name: &str) -> Result<(), Error> {
    let Some(plan) = session.plan() else { return Ok(()) };
    if !plan.others.iter().any(|other| other.name() == name) {
        return Ok(());
    }
    let mut rest = Plan::clone(&plan);
    rest.others.retain(|other| other.name() != name);
    go_on_without(session, env, &plan, rest)?;
    forget_kinds(env)
}

/// Classes are rewritten by what is left of a plan; if that is nothing, they are as they were.
fn go_on_without(
    session: &'static Session,
    env: &mut Env<'_>,
    before: &Plan,
    rest: Plan,
) -> Result<(), Error> {
    if rest.counts() || !rest.others.is_empty() {
        return rewrite(session, env, rest);
    }
    session.set_plan(None);
    stacks::instrumented(session, env);
    // While the plan is there, it tells which classes were touched.
    let restored = retransform(session, env, before);
    huge::forbid(session.vm);
    session.listen(Listener::Instrumentation, sys::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, false)?;
    restored
}

/// Stops measuring. Instrumentation is taken out again: every class is retransformed to the bytes it was loaded with.
pub fn stop(session: &'static Session, env: &mut Env<'_>) -> Result<(), String> {
    if !session.owned {
        control::close();
    }
    let stopped = engine::stop(session, env);
    not_included::tell(session);
    if !session.owned {
        // The collector holds the file open; its name is not needed any more.
        let _ = std::fs::remove_file(session.arena.path());
    }
    stopped
}

/// Takes out of all classes what counts; nothing if it is not there.
pub fn stop_counting(session: &'static Session, env: &mut Env<'_>) -> Result<(), Error> {
    let Some(plan) = session.plan().filter(|plan| plan.counts()) else { return Ok(()) };
    let rest = Plan { counting: Counting::Off, activation: false, ..Plan::clone(&plan) };
    let stopped = go_on_without(session, env, &plan, rest);
    agents::remove(env)?;
    stopped
}

/// Tells the reader what VM this is.
fn describe(session: &Session) {
    const FACTS: [(&str, &CStr); 7] = [
        ("java.version", c"java.version"),
        ("java.vendor", c"java.vendor"),
        ("java.vm.name", c"java.vm.name"),
        ("java.vm.version", c"java.vm.version"),
        ("java.command", c"sun.java.command"),
        ("os.name", c"os.name"),
        ("os.arch", c"os.arch"),
    ];
    for (key, property) in FACTS {
        if let Ok(value) = session.jvmti.system_property(property) {
            session.note(key, &value);
        }
    }
    if let Ok(version) = jdk_version(session.jvmti) {
        session.note("java.feature", &version.feature.to_string());
    }
}

fn define_runtime(env: &Env<'_>, jvmti: Jvmti) -> Result<(), Error> {
    let mut defined = Vec::new();
    let classes = classes::RUNTIME.unpack();
    for (name, bytes) in &classes {
        defined.push((*name, dialect::define(env, jvmti, name, bytes)?));
    }
    let named = |wanted: &CStr| defined.iter().find(|(name, _)| *name == wanted).map(|&(_, class)| class);
    let (Some(natives_class), Some(tally), Some(direct), Some(ledger), Some(kinds), Some(probe)) = (
        named(c"java/quipu/Natives"),
        named(c"java/quipu/Tally"),
        named(c"java/quipu/Direct"),
        named(c"java/quipu/Ledger"),
        named(c"java/quipu/Kinds"),
        named(c"java/quipu/Probe"),
    ) else {
        return Ok(());
    };
    open_internals(env, jvmti, probe)?;
    // SAFETY: the table's functions have the signatures that Natives.java declares.
    unsafe { env.register_natives(natives_class, &natives::table())? };
    // Initialises Probe, and with it Cursor, now: instrumented code must never be the first to do so.
    let end = env.static_method(probe, c"end", c"(Ljava/lang/Thread;)V")?;
    env.static_method(direct, c"slot", c"()J")?;
    let aside = env.static_method(probe, c"aside", c"(Z)V")?;
    let go_on = env.static_method(probe, c"goOn", c"()V")?;
    let renew = env.static_method(probe, c"renew", c"()V")?;
    let renew_thread = env.static_method(probe, c"renew", c"(Ljava/lang/Thread;)V")?;
    dialect::check(env, jvmti, &classes, probe)?;
    let contexts = env.static_method(ledger, c"contexts", c"(Z)V")?;
    let forget = env.static_method(kinds, c"forget", c"()V")?;
    let (probe, ledger, kinds) = (env.new_global(probe)?, env.new_global(ledger)?, env.new_global(kinds)?);
    let _ = RUNTIME.set(Runtime {
        probe,
        end,
        aside,
        go_on,
        renew,
        renew_thread,
        ledger,
        contexts,
        kinds,
        forget,
    });
    tallies::define(env, tally)
}

/// Opens what the runtime is made of to it. Java code must not run for that, as far as it can be helped: classes it is
/// the first to use would be initialised already when the program comes to them, and be missing from its profile.
/// `FindClass` asks the system loader, and JVMTI's `AddModuleExports` sets up the machinery of lambdas.
fn open_internals(env: &Env<'_>, jvmti: Jvmti, runtime: Class<'_>) -> Result<(), Error> {
    let (Ok(to), Some(object)) = (env.module_of(runtime), env.superclass(runtime)) else {
        return Ok(()); // JDK 8: no modules, nothing is closed.
    };
    let base = env.module_of(object)?;
    for package in INTERNAL {
        if export(env, base, package, to).is_err() {
            jvmti.add_module_exports(base, package, to)?;
        }
    }
    Ok(())
}

/// Tells the VM that a package is exported; Java code, which would have to keep that in mind, does not ask.
fn export(env: &Env<'_>, from: Module<'_>, package: &CStr, to: Module<'_>) -> Result<(), Error> {
    let class = env.class_of(from)?;
    let method = env.static_method(
        class,
        c"addExports0",
        c"(Ljava/lang/Module;Ljava/lang/String;Ljava/lang/Module;)V",
    )?;
    let package = env.new_text(&package.to_string_lossy())?;
    let arguments = [from.raw(), package.raw(), to.raw()].map(|l| sys::jvalue { l });
    // SAFETY: the method is this static one, and these are the types it takes.
    unsafe { env.call_static_void(class, method, &arguments) }
}

fn retransform(session: &Session, env: &mut Env<'_>, plan: &Plan) -> Result<(), Error> {
    let jvmti = session.jvmti;
    let limited = plan.selection.is_limited();
    env.with_frame(64, |env| {
        let mut classes = jvmti.loaded_classes(env)?;
        classes.retain(|&class| {
            !jvmti.is_array(class).unwrap_or(true)
                && jvmti.is_modifiable(class).unwrap_or(false)
                && jvmti.class_signature(class).is_ok_and(|signature| {
                    let name = signature.as_bytes();
                    let name = name.strip_prefix(b"L").and_then(|name| name.strip_suffix(b";"));
                    if let Some(name) = name.filter(|name| limited && !plan.touches(name)) {
                        not_included::add(name);
                    }
                    name.is_some_and(|name| plan.touches(name))
                })
        });
        session.note("start.classes", &classes.len().to_string());
        retransform_classes(session, &classes);
        Ok(())
    })?
}

/// Has classes rewritten, as the plan says now.
pub fn retransform_classes(session: &Session, classes: &[Class<'_>]) {
    let jvmti = session.jvmti;
    // All in one VM operation, so that every thread begins to count at the same moment.
    if classes.is_empty() || jvmti.retransform_classes(classes).is_ok() {
        return;
    }
    // Some class does not take it. Find it by halves, so that only it is left out.
    let mut pending = vec![classes];
    while let Some(batch) = pending.pop() {
        match (jvmti.retransform_classes(batch), batch) {
            (Ok(()), _) | (_, []) => {}
            (Err(error), [class]) => {
                let name = jvmti.class_signature(*class);
                let name = name.as_ref().map_or(&b"?"[..], |name| name.as_bytes());
                session.leave(name, &error.to_string());
            }
            (Err(_), batch) => {
                let (a, b) = batch.split_at(batch.len() / 2);
                pending.extend([b, a]);
            }
        }
    }
}
