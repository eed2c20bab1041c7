//! A root method and all that it calls, instrumented while the program runs. `docs/kinds/root.md` describes it.
//!
//! `patterns` are what people call roots, `graph` knows which methods a root reaches, `calibration` what measuring takes; what
//! rewritten code calls is in `runtime`. Here is what the VM has to do with it: classes are looked up, and rewritten by a thread of ours. A thread of the program
//! that runs a method for the first time below a root waits for that, but never long: it may hold a lock that loading a class
//! needs, which verifying what was rewritten may come to.

mod calibration;
mod graph;
mod patterns;
mod runtime;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use quipu_classfile::{ClassFile, Method, mutf8};
use quipu_jvm::jni::kind;
use quipu_jvm::{Class, Env, Error, Object, Weak, sys};
use quipu_kinds::{Chosen, Kind};
use quipu_rewrite::{Counting, Plan, Region, Selection, Timed, Timing, linkers};

use crate::engine::Engine;
use crate::events::Listener;
use crate::huge;
use crate::locks::lock;
use crate::not_included;
use crate::options::Options;
use crate::own_thread;
use crate::session::Session;
use crate::stacks;
use crate::start;
use graph::Declares;
use patterns::{Lines, Named, Pattern};

/// A thread waits no longer than this for what its method calls to be instrumented.
const PATIENCE: Duration = Duration::from_secs(10);
/// What is instrumented makes more wanted, but not for ever.
const MOST_ROUNDS: u32 = 10_000;

/// Names of methods that are told where a root was none of them.
const MOST_NEAR: usize = 200;
/// What reflection calls is asked about once, as long as there is not more than this of it.
const MOST_REFLECTED: usize = 10_000;

/// Classes that load others, from which all loaders inherit.
const LOADER: &[u8] = b"java/lang/ClassLoader";

/// The kind's engine.
pub struct Root {
    on: AtomicBool,
    /// How often a thread went on before what it was about to call was instrumented.
    late: AtomicU64,
    /// Whether times are those of samples.
    sampled: AtomicBool,
    /// Parts of methods that are timed, and whether there is any method that has them.
    regions: Mutex<Vec<(Lines, bool)>>,
    /// The roots, as they were named.
    names: Mutex<Vec<String>>,
}

/// The only one.
pub static ROOT: Root = Root {
    on: AtomicBool::new(false),
    late: AtomicU64::new(0),
    sampled: AtomicBool::new(false),
    regions: Mutex::new(Vec::new()),
    names: Mutex::new(Vec::new()),
};

/// What the VM calls a class, as long as it is not gone.
type Handle = Weak<kind::Class>;
type Graph = graph::Graph<Handle>;

static GRAPH: Mutex<Option<Graph>> = Mutex::new(None);
static REQUESTS: Requests = Requests { state: Mutex::new(Asked::NOTHING), changed: Condvar::new() };

/// What our thread is asked for, and has done.
struct Requests {
    state: Mutex<Asked>,
    changed: Condvar,
}

/// All that is wanted when a profile begins.
const FIRST_REQUEST: u64 = 1;

/// Requests have numbers.
struct Asked {
    /// The last one.
    last: u64,
    /// The last one that was done, and all before it.
    done: u64,
    /// The last one that somebody has waited for too long: nobody else waits for it.
    abandoned: u64,
    /// Whether requests are taken.
    runs: bool,
    /// Whether our thread is there to do so.
    serves: bool,
}

impl Asked {
    const NOTHING: Asked = Asked { last: 0, done: 0, abandoned: 0, runs: false, serves: false };
}

impl Root {
    fn is_on(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }

    /// Whether samples find their contexts in what threads have published below roots.
    pub fn is_sampled(&self) -> bool {
        self.is_on() && self.sampled.load(Ordering::Acquire)
    }
}

impl Engine for Root {
    fn kind(&self) -> &'static Kind {
        &quipu_kinds::ROOT
    }

    fn start(&self, session: &'static Session, env: &mut Env<'_>, options: &Options) -> Result<(), String> {
        if session.plan().is_some_and(|plan| plan.counts()) {
            return Err("root cannot be on together with exact or bytecodes: stop the other first".to_owned());
        }
        let mut names: Vec<String> = options.chosen.all(self.kind().name()).map(str::to_owned).collect();
        if self.is_on() {
            names.retain(|name| !lock(&self.names).contains(name));
        }
        let roots: Result<Vec<Named>, String> = names.iter().map(|name| Named::parse(name)).collect();
        let roots = roots?;
        if self.is_on() {
            lock(&self.names).append(&mut names);
            if let Some(graph) = lock(&GRAPH).as_mut() {
                graph.add_roots(roots);
                let env = &*env;
                graph.look_for_roots(&mut |handles, pattern| may_have(session, env, handles, pattern));
            }
            return rewrite_pending(session, env).map_err(|e| e.to_string());
        }
        let sampled = options.chosen.get("time") == Some("sampled");
        let clocks = [&quipu_kinds::CPU, &quipu_kinds::WALL];
        if sampled && !stacks::current().any() && !clocks.iter().any(|clock| options.chosen.has(clock.name()))
        {
            return Err(
                "times that are sampled need cpu or wall beside root, which take the samples".to_owned()
            );
        }
        let regions: Result<Vec<Lines>, String> = options.chosen.all("region").map(Lines::parse).collect();
        *lock(&self.regions) = regions?.into_iter().map(|region| (region, false)).collect();
        self.sampled.store(sampled, Ordering::Release);
        *lock(&self.names) = names;
        let eager = options.chosen.get("scheme") == Some("eager");
        self.begin(session, env, options, (roots, eager)).map_err(|e| {
            self.on.store(false, Ordering::Release);
            // What has failed is told; what was done before that is undone as far as that goes.
            let _ = self.take_out(session, env);
            e.to_string()
        })
    }

    fn change(&self, _: &'static Session, _: &mut Env<'_>, _: &str, _: &Chosen) -> Result<(), String> {
        Ok(())
    }

    fn stop(&self, session: &'static Session, env: &mut Env<'_>) -> Result<(), String> {
        if !self.on.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        runtime::open(env, false).map_err(|e| e.to_string())?;
        self.tell(session, env);
        let taken_out = self.take_out(session, env);
        if !self.sampled.load(Ordering::Acquire) {
            // Nobody but who asked for the end waits for this.
            calibration::wait(session);
            calibration::end(session, env);
        }
        taken_out.map_err(|e| e.to_string())
    }

    fn stop_one(&self, session: &'static Session, env: &mut Env<'_>, value: &str) -> Result<(), String> {
        let mut names = lock(&self.names);
        if !self.is_on() || !names.iter().any(|name| name == value) {
            return Err(["there is no root ", value, ": they are ", &names.join(", ")].concat());
        }
        if names.len() == 1 {
            drop(names);
            return self.stop(session, env);
        }
        names.retain(|name| name != value);
        drop(names);
        forget_reflected(env);
        if let Some(graph) = lock(&GRAPH).as_mut() {
            let env = &*env;
            graph.remove_root(value, &mut |handles| declared(session, env, handles));
        }
        rewrite_pending(session, env).map_err(|e| e.to_string())
    }

    fn values(&self, _: &Session) -> Vec<String> {
        if self.is_on() { lock(&self.names).clone() } else { Vec::new() }
    }

    fn status(&self, _: &Session) -> Option<String> {
        self.is_on().then(|| {
            let graph = lock(&GRAPH);
            let instrumented = graph.as_ref().map_or(0, Graph::instrumented);
            let unmet = graph.iter().flat_map(Graph::unmet).map(|(named, refused)| match refused.first() {
                Some(why) => [&*named.text, " (", why, ")"].concat(),
                None => named.text.clone(),
            });
            let unmet: Vec<String> = unmet.collect();
            let waits = if unmet.is_empty() { "" } else { "; not met yet: " };
            let names = lock(&self.names).join(", ");
            format!("{names} (instrumented methods: {instrumented}{waits}{})", unmet.join(", "))
        })
    }

    fn class_prepared(&self, env: &Env<'_>, class: Class<'_>) {
        let (true, Some(session)) = (self.is_on(), Session::get()) else { return };
        if !session.jvmti.is_modifiable(class).unwrap_or(false) {
            return;
        }
        let Ok(signature) = session.jvmti.class_signature(class) else { return };
        let Some(name) = internal(signature.as_bytes()) else { return };
        // What was found to be called of it between its loading and now could not be instrumented yet.
        let lacks = lock(&GRAPH).as_mut().is_some_and(|graph| {
            remember(graph, env, name, class);
            graph.lacks(name) && ask_for_pending(graph)
        });
        if lacks {
            settle();
        }
    }

    fn vm_ends(&self, env: &mut Env<'_>) {
        let (true, Some(session)) = (self.is_on(), Session::get()) else { return };
        self.tell(session, env);
        if !self.sampled.load(Ordering::Acquire) {
            calibration::end(session, env);
        }
    }
}

impl Root {
    fn begin(
        &self,
        session: &'static Session,
        env: &mut Env<'_>,
        options: &Options,
        (roots, eager): (Vec<Named>, bool),
    ) -> Result<(), Error> {
        let began = Instant::now();
        start::prepare(session, env)?;
        runtime::define(env, session.jvmti)?;
        runtime::prepare(env)?;
        session.note("kind", self.kind().name());
        for (at, (region, _)) in lock(&self.regions).iter().enumerate() {
            session.note("root.region", &format!("{} {}", at + 1, region.text));
        }
        self.late.store(0, Ordering::Relaxed);
        forget_reflected(env);
        {
            let mut graph = lock(&GRAPH);
            let before = graph.take();
            *graph = Some(Graph::new(roots, eager, options.selection.clone(), before));
        }
        // A thread that comes to a root waits until all is there.
        REQUESTS.open();
        // From here on no class is missed: it is told of when it is loaded, or is among those that are.
        self.on.store(true, Ordering::Release);
        let before = session.plan();
        let mut plan = before.as_ref().map_or_else(
            // Which methods are looked at is the graph's business: roots always are.
            || Plan {
                counting: Counting::Off,
                direct: session.is_direct(),
                selection: Selection::default(),
                ..options.plan()
            },
            |plan| Plan::clone(plan),
        );
        plan.others.retain(|other| other.name() != Timed::NAME);
        let sampled = self.sampled.load(Ordering::Acquire);
        plan.others.push(Arc::new(Timed { sampled }));
        session.set_plan(Some(plan));
        session.listen(Listener::Roots, sys::JVMTI_EVENT_CLASS_PREPARE, true)?;
        session.listen(Listener::Instrumentation, sys::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, true)?;
        env.with_frame(64, |env| mirror_all(session, env))??;
        if let Some(graph) = lock(&GRAPH).as_mut() {
            let env = &*env;
            graph.look_for_roots(&mut |handles, pattern| may_have(session, env, handles, pattern));
            graph.look_below(LOADER);
            linkers().for_each(|class| graph.look_at(class));
        }
        let rewritten = rewrite_pending(session, env);
        REQUESTS.done(FIRST_REQUEST);
        rewritten?;
        lock(&REQUESTS.state).serves = true;
        if let Err(error) = own_thread::start(session.jvmti, env, "Quipu subgraph", serve) {
            lock(&REQUESTS.state).serves = false;
            return Err(error);
        }
        runtime::open(env, true)?;
        if sampled {
            session.note("root.time", "sampled");
            stacks::instrumented(session, env);
        } else {
            calibration::begin(session, env);
        }
        session.note("start.nanos", &began.elapsed().as_nanos().to_string());
        Ok(())
    }

    /// Tells the reader how far the roots reached.
    fn tell(&self, session: &Session, env: &Env<'_>) {
        let mut graph = lock(&GRAPH);
        let Some(graph) = graph.as_mut() else { return };
        session.note("root.instrumented", &graph.instrumented().to_string());
        let unmet: Vec<(Named, Vec<String>)> =
            graph.unmet().map(|(named, why)| (named.clone(), why)).collect();
        if !unmet.is_empty() {
            graph.class_names().for_each(not_included::add);
            not_included::tell(session);
        }
        for (named, refused) in unmet {
            session.note("root.unmet", &named.text);
            for why in refused {
                session.note("root.why", &[&*named.text, "\t", &why].concat());
            }
            let near = graph.methods_near(&named.pattern, &mut |handles| declared(session, env, handles));
            for method in near.iter().take(MOST_NEAR) {
                session.note("root.near", &mutf8::decode(method).replace('/', "."));
            }
        }
        for (region, _) in lock(&self.regions).iter().filter(|(_, is_met)| !is_met) {
            session.note("root.region.unmet", &region.text);
        }
        let late = self.late.load(Ordering::Relaxed);
        if late > 0 {
            session.note("root.late", &late.to_string());
        }
    }

    fn take_out(&self, session: &'static Session, env: &mut Env<'_>) -> Result<(), Error> {
        REQUESTS.close();
        if let Some(graph) = lock(&GRAPH).as_mut() {
            graph.look_below(LOADER);
            linkers().for_each(|class| graph.look_at(class));
            graph.look_at_instrumented();
        }
        let rest = session.plan().map(|plan| {
            let mut rest = Plan::clone(&plan);
            rest.others.retain(|other| other.name() != Timed::NAME);
            rest
        });
        let rest = rest.filter(|rest| rest.counts() || !rest.others.is_empty());
        let is_last = rest.is_none();
        session.set_plan(rest);
        stacks::instrumented(session, env);
        let restored = rewrite_pending(session, env);
        if is_last {
            // What was inserted beside it may have been stopped first.
            huge::forbid(session.vm);
            session.listen(Listener::Instrumentation, sys::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, false)?;
        }
        session.listen(Listener::Roots, sys::JVMTI_EVENT_CLASS_PREPARE, false)?;
        let handles = lock(&GRAPH).as_mut().map(Graph::take_handles).unwrap_or_default();
        handles.into_iter().for_each(|handle| env.delete_weak(handle));
        forget_reflected(env);
        // Of what is known only that is kept which the next profile wants to know.
        let mut graph = lock(&GRAPH);
        *graph = Some(Graph::new(Vec::new(), false, Selection::default(), graph.take()));
        drop(graph);
        restored.and(runtime::retire(env))
    }
}

impl Requests {
    /// Requests are taken from now on; the first one is made.
    fn open(&self) {
        *lock(&self.state) = Asked { last: FIRST_REQUEST, runs: true, ..Asked::NOTHING };
    }

    /// What was asked for is done, up to this request.
    fn done(&self, number: u64) {
        let mut state = lock(&self.state);
        state.done = state.done.max(number);
        drop(state);
        self.changed.notify_all();
    }

    fn close(&self) {
        let mut state = lock(&self.state);
        state.runs = false;
        self.changed.notify_all();
        // What it has begun must not come after what is done next.
        let _ = self.changed.wait_timeout_while(state, PATIENCE, |asked| asked.serves);
    }

    /// Asks for what is pending to be instrumented.
    fn ask(&self) {
        lock(&self.state).last += 1;
        self.changed.notify_all();
    }

    /// Waits for everything that was asked for so far, by whomever; `false` if that takes too long.
    fn settle(&self) -> bool {
        let state = lock(&self.state);
        let number = state.last;
        let waits = |asked: &mut Asked| asked.runs && asked.done < number && asked.abandoned < number;
        let Ok((mut state, waited)) = self.changed.wait_timeout_while(state, PATIENCE, waits) else {
            return true;
        };
        if waited.timed_out() {
            state.abandoned = state.abandoned.max(number);
            self.changed.notify_all();
        }
        !waited.timed_out()
    }
}

/// What our thread does.
fn serve(env: &mut Env<'_>) {
    let Some(session) = Session::get() else { return };
    loop {
        let asked = {
            let state = lock(&REQUESTS.state);
            let idle = |asked: &mut Asked| asked.runs && asked.last == asked.done;
            match REQUESTS.changed.wait_while(state, idle) {
                Ok(asked) if asked.runs => asked.last,
                Ok(mut ended) => {
                    ended.serves = false;
                    drop(ended);
                    return REQUESTS.changed.notify_all();
                }
                Err(_) => return,
            }
        };
        // A class that cannot be rewritten is told of where that is found.
        let _ = rewrite_pending(session, env);
        env.clear_exception();
        REQUESTS.done(asked);
    }
}

/// A method runs below a root, in a context that is new; called by the runtime.
pub fn reached(env: &Env<'_>, method: u32) {
    let Some(session) = Session::get().filter(|_| ROOT.is_on()) else { return };
    {
        let mut graph = lock(&GRAPH);
        let Some(graph) = graph.as_mut() else { return };
        graph.reached(method, &mut |handles| declared(session, env, handles));
        ask_for_pending(graph);
    }
    settle();
}

/// Methods that reflection was seen to call, with their classes: when one is unloaded, another's method may get the id.
static REFLECTED: Mutex<BTreeMap<usize, Handle>> = Mutex::new(BTreeMap::new());

/// What reflection calls is asked for again.
fn forget_reflected(env: &Env<'_>) {
    let known = std::mem::take(&mut *lock(&REFLECTED));
    known.into_values().for_each(|class| env.delete_weak(class));
}

/// A method is about to be called by reflection, below a root; called by the runtime.
pub fn reflected(env: &Env<'_>, object: Object<'_>) {
    let Some(session) = Session::get().filter(|_| ROOT.is_on()) else { return };
    // SAFETY: inserted into the methods of `Method` and `Constructor` that call what they are of.
    let Ok(method) = (unsafe { env.reflected_method(object) }) else { return env.clear_exception() };
    let Ok(class) = session.jvmti.declaring_class(env, method) else { return };
    let id = method.raw() as usize;
    let is_of = |known: &Handle| env.upgrade(known).is_some_and(|known| env.same(known, class));
    if lock(&REFLECTED).get(&id).is_some_and(is_of) {
        return;
    }
    let (Ok(signature), Ok(named)) =
        (session.jvmti.class_signature(class), session.jvmti.method_name(method))
    else {
        return;
    };
    let Some(owner) = internal(signature.as_bytes()) else { return };
    let name = [named.name.as_bytes(), named.descriptor.as_bytes()].concat();
    {
        let mut graph = lock(&GRAPH);
        let Some(graph) = graph.as_mut() else { return };
        graph.reflected(owner, &name, &mut |handles| declared(session, env, handles));
        ask_for_pending(graph);
    }
    settle();
    if lock(&REFLECTED).len() >= MOST_REFLECTED {
        forget_reflected(env);
    }
    // Not before: another thread that is about to call it waits, too.
    let replaced = env.new_weak(class).ok().and_then(|class| lock(&REFLECTED).insert(id, class));
    replaced.into_iter().for_each(|class| env.delete_weak(class));
}

/// Asks for what is pending, if anything is. Whoever looks at the graph after this one sees either that or the request.
fn ask_for_pending(graph: &Graph) -> bool {
    let is_pending = graph.is_pending();
    if is_pending {
        REQUESTS.ask();
    }
    is_pending
}

/// Waits for all that was asked for, by other threads too: it may be what this one calls next.
fn settle() {
    if !REQUESTS.settle() {
        ROOT.late.fetch_add(1, Ordering::Relaxed);
    }
}

/// What is inserted into a method; called while its class is rewritten.
pub fn timing(session: &Session, method: &Method<'_, '_>, id: u32) -> Option<Timing> {
    if !ROOT.is_on() {
        return None;
    }
    with_graph(session, |graph, declares| graph.instrument(method, id, declares))?
}

/// The parts of a method that are timed.
pub fn regions(method: &Method<'_, '_>) -> Vec<Region> {
    let mut regions = lock(&ROOT.regions);
    let known = regions.iter_mut().zip(1..).filter(|((region, _), _)| region.are_in(method));
    known
        .map(|((region, is_met), number)| {
            *is_met = true;
            Region { number, lines: region.lines }
        })
        .collect()
}

/// A class is about to be loaded or rewritten: whether a root has to do with it.
pub fn learn(session: &Session, class: &ClassFile<'_>) -> bool {
    if !ROOT.is_on() {
        return false;
    }
    let loads = class.methods().any(|method| method.name() == b"loadClass")
        || linkers().any(|linker| linker == class.name());
    let concerned = with_graph(session, |graph, declares| {
        graph.learn(class, declares);
        ask_for_pending(graph);
        graph.concerns(class.name())
    });
    loads || concerned.unwrap_or(false)
}

/// A method that was to be instrumented could not be, or none of a class.
pub fn failed(class: &[u8], method: Option<&[u8]>, why: &str) {
    if ROOT.is_on()
        && let Some(graph) = lock(&GRAPH).as_mut()
    {
        graph.failed(class, method, why);
    }
}

/// Looks at the graph, where the VM can be asked of classes.
fn with_graph<R>(
    session: &Session,
    look: impl FnOnce(&mut Graph, &mut Declares<'_, Handle>) -> R,
) -> Option<R> {
    session
        .vm
        .with_env(|env| {
            let mut graph = lock(&GRAPH);
            graph.as_mut().map(|graph| look(graph, &mut |handles| declared(session, env, handles)))
        })
        .ok()
        .flatten()
}

/// What classes declare that have the same name, if the VM has them.
fn declared(session: &Session, env: &Env<'_>, handles: &[Handle]) -> Option<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    for class in handles.iter().filter_map(|weak| env.upgrade(weak)) {
        let is_initialised = session
            .jvmti
            .class_status(class)
            .is_ok_and(|status| status & sys::JVMTI_CLASS_STATUS_INITIALIZED != 0);
        for method in session.jvmti.class_methods(class).unwrap_or_default() {
            if let Ok(named) = session.jvmti.method_name(method) {
                let name = [named.name.as_bytes(), named.descriptor.as_bytes()].concat();
                if !is_initialised || name != graph::INITIALISER {
                    found.push(name);
                }
            }
        }
    }
    (!found.is_empty()).then_some(found)
}

/// The name of a class as class files have it; none of arrays.
fn internal(signature: &[u8]) -> Option<&[u8]> {
    signature.strip_prefix(b"L")?.strip_suffix(b";")
}

/// Whether one of the classes of a name can have a root, for what the VM tells of it.
fn may_have(session: &Session, env: &Env<'_>, handles: &[Handle], pattern: &Pattern) -> bool {
    handles.iter().filter_map(|weak| env.upgrade(weak)).any(|class| {
        if let Some(file) = pattern.file() {
            return session
                .jvmti
                .source_file_name(class)
                .is_ok_and(|name| name.as_bytes() == file.as_bytes());
        }
        let Ok(methods) = session.jvmti.class_methods(class) else { return true };
        methods
            .into_iter()
            .filter_map(|method| session.jvmti.method_name(method).ok())
            .any(|named| pattern.signature(named.name.as_bytes(), named.descriptor.as_bytes()))
    })
}

/// Notes what the VM calls a class.
fn remember(graph: &mut Graph, env: &Env<'_>, name: &[u8], class: Class<'_>) {
    let Some(known) = graph.handles(name) else { return };
    let is_known = known.iter().any(|other| env.upgrade(other).is_some_and(|other| env.same(other, class)));
    if !is_known && let Ok(weak) = env.new_weak(class) {
        known.push(weak);
        let gone = graph.handled(&mut |weak| env.upgrade(weak).is_some());
        gone.into_iter().for_each(|weak| env.delete_weak(weak));
    }
}

/// Notes all classes that are loaded, and how they are related.
fn mirror_all(session: &Session, env: &mut Env<'_>) -> Result<(), Error> {
    let jvmti = session.jvmti;
    for class in jvmti.loaded_classes(env)? {
        let mut related = vec![class];
        related.extend(env.superclass(class));
        related.extend(jvmti.interfaces(env, class).unwrap_or_default());
        let signatures: Vec<_> =
            related.iter().filter_map(|&class| jvmti.class_signature(class).ok()).collect();
        let names: Vec<&[u8]> =
            signatures.iter().filter_map(|signature| internal(signature.as_bytes())).collect();
        // What is above an array has no place here.
        let is_class = names.len() == related.len() && jvmti.is_modifiable(class).unwrap_or(false);
        let is_interface = jvmti.is_interface(class).unwrap_or(false);
        if let (true, Some((name, supers)), Some(graph)) =
            (is_class, names.split_first(), lock(&GRAPH).as_mut())
        {
            graph.loaded(name, is_interface, supers);
            remember(graph, env, name, class);
        }
    }
    Ok(())
}

/// Has the VM hand out the bytes of pending classes again, to be rewritten or left as they are; and of those that become pending
/// by that.
fn rewrite_pending(session: &Session, env: &mut Env<'_>) -> Result<(), Error> {
    for _ in 0..MOST_ROUNDS {
        let is_pending = env.with_frame(64, |env| {
            let mut classes: Vec<Class<'_>> = match lock(&GRAPH).as_mut().filter(|graph| graph.is_pending()) {
                Some(graph) => {
                    graph.take_pending().into_iter().filter_map(|weak| env.upgrade(weak)).collect()
                }
                None => return false,
            };
            classes.retain(|&class| session.jvmti.is_modifiable(class).unwrap_or(false));
            start::retransform_classes(session, &classes);
            true
        })?;
        if !is_pending {
            break;
        }
    }
    Ok(())
}
