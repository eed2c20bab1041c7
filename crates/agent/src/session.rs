//! The profile that is being taken in this process.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use quipu_arena::append::Appender;
use quipu_arena::layout::{self, header};
use quipu_arena::place;
use quipu_arena::record::Record;
use quipu_arena::writer::ArenaWriter;
use quipu_classfile::{ClassFile, Method, mutf8};
use quipu_jvm::{Capability, Jvm, Jvmti, Object, sys};
use quipu_kinds::{Chosen, Setting};
use quipu_rewrite::{Call, Callee, Contexts, Known, OpaqueCallee, Plan, Region, Site, Timing};

use crate::engines::root;
use crate::entry::complain;
use crate::events::{Events, Listener};
use crate::groups::Groups;
use crate::names;
use crate::options::Options;
use crate::presumed::Presumptions;
use crate::registry::Registry;
use crate::sites::Sites;
use crate::stacks::monotonic;
use crate::world::{self, World};

/// Everything the callbacks need. Made once, never dropped: callbacks may come until the process ends.
pub struct Session {
    /// The VM of this process.
    pub vm: Jvm,
    /// The environment the events belong to.
    pub jvmti: Jvmti,
    /// What was asked for when the profile began that is being taken, or was last.
    options: RwLock<Arc<Options>>,
    /// Whether the agent was there before `java.lang.Thread` was loaded, to give it fields; and one for tallies.
    early: bool,
    tally_field: bool,
    /// Whether the profile is written by the process that started the VM, when the VM ends: all that is measured in it is then
    /// one profile.
    pub owned: bool,
    /// Where the profile is kept.
    pub arena: ArenaWriter,
    /// Ids.
    pub registry: Registry,
    /// Threads.
    pub groups: Groups,
    /// Classes.
    pub world: World,
    /// Instructions that are told apart.
    pub sites: Sites,
    /// Methods that may turn out to be opaque.
    pub presumed: Presumptions,
    /// What the VM tells of.
    events: Events,
    /// How classes are rewritten; none while nothing is measured.
    plan: RwLock<Option<Arc<Plan>>>,
    /// Whether anything was measured before.
    begun: AtomicBool,
    next_loader: AtomicI64,
    /// Offsets of the nodes that take calls whose context cannot be kept; the runtime asks for one after the other.
    sinks: [u64; SINKS],
    sinks_taken: AtomicUsize,
    /// Whether `java.lang.Thread` got a field for the published slot.
    direct: AtomicBool,
    /// Address of the tally that is never read.
    unread_tally: OnceLock<Option<usize>>,
}

/// One for calls that find the arena full, one for threads without an identity.
const SINKS: usize = 2;

static SESSION: OnceLock<Session> = OnceLock::new();

impl Session {
    /// What [`Session::loader`] says of the loader of the user's own agent.
    pub const AGENT_LOADER: u32 = u32::MAX;

    /// The session, once there is one.
    pub fn get() -> Option<&'static Session> {
        SESSION.get()
    }

    /// Begins the session of this process.
    pub fn begin(vm: Jvm, jvmti: Jvmti, options: Options) -> Result<&'static Session, String> {
        let path = match (&options.file, &options.directory) {
            (Some(pattern), _) => names::file(pattern),
            (None, Some(directory)) => arena_path(directory),
            (None, None) => {
                let directory = place::directory();
                arena_path(&directory.map_err(|e| format!("no private directory for the profile: {e}"))?)
            }
        };
        let arena = ArenaWriter::create(&path, options.limit)
            .map_err(|e| format!("cannot make {}: {e}", path.display()))?;
        let mut sinks = [0; SINKS];
        for sink in &mut sinks {
            *sink = arena
                .add_private(layout::node_size(layout::MAX_SLOTS, 0))
                .ok_or("the arena's limit is too small")?;
        }
        let registry = Registry::new().ok_or("no address space for the table of methods")?;
        let groups = Groups::new(options.merge, options.threads.clone());
        let (early, tally_field) = (options.direct, options.contexts != Contexts::All);
        let owned = options.directory.is_some() || options.file.is_some();
        let world = world::of_vm(jvmti);
        let session = Session {
            vm,
            jvmti,
            options: RwLock::new(Arc::new(options)),
            early,
            tally_field,
            owned,
            arena,
            registry,
            groups,
            world,
            sites: Sites::default(),
            presumed: Presumptions::default(),
            events: Events::new(),
            plan: RwLock::default(),
            begun: AtomicBool::new(false),
            next_loader: AtomicI64::new(1),
            sinks,
            sinks_taken: AtomicUsize::new(0),
            direct: AtomicBool::new(false),
            unread_tally: OnceLock::new(),
        };
        SESSION.set(session).map_err(|_| "the agent is loaded already".to_owned())?;
        SESSION.get().ok_or_else(|| "the agent is loaded already".to_owned())
    }

    /// What was asked for when the profile began that is being taken, or was last.
    pub fn options(&self) -> Arc<Options> {
        Arc::clone(&self.options.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether `java.lang.Thread` gets fields in this VM.
    pub fn is_early(&self) -> bool {
        self.early
    }

    /// A profile begins, with options of its own. What an earlier one has counted and sampled is forgotten, and `true` is
    /// returned if threads or contexts are told apart in another way from now on.
    pub fn begin_profile(&self, appenders: &[&Appender], options: &Options) -> Result<bool, String> {
        let before = self.options();
        if self.is_direct() && options.rewrites() && before.contexts != options.contexts {
            return Err(
                "which methods have contexts cannot be changed in a process that was profiled from its \
                        start"
                    .to_owned(),
            );
        }
        let again = self.begun.swap(true, Ordering::AcqRel);
        let otherwise = again && !before.tells_apart_like(options);
        if again {
            self.arena.forget(appenders, &|method| self.registry.slots(method));
        }
        if otherwise {
            self.groups.choose(options.merge, options.threads.clone());
        } else {
            self.groups.begin();
        }
        *self.options.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(options.clone());
        let _ = self.arena.log(&Record::Start { time: monotonic() });
        Ok(otherwise)
    }

    /// A setting of a kind has another value from now on. A profile that is begun anew has it, too, and this one tells of it.
    pub fn changed(&self, setting: &Setting, chosen: &Chosen) {
        let name = setting.name;
        // What concerns all kinds is asked of them.
        if !setting.kinds.is_empty() {
            let mut options = Options::clone(&self.options());
            options.chosen.leave_out(name);
            for value in chosen.all(name) {
                // It was taken before.
                let _ = options.chosen.set(name, value);
            }
            *self.options.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(options);
        }
        self.tell_option(name, chosen);
    }

    /// Tells the reader what a setting is.
    pub fn tell_option(&self, name: &str, chosen: &Chosen) {
        let values: Vec<&str> = chosen.all(name).collect();
        self.note(&["option.", name].concat(), &values.join("|"));
    }

    /// How classes are rewritten now; `None` while nothing is measured.
    pub fn plan(&self) -> Option<Arc<Plan>> {
        self.plan.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins to measure (again), or stops.
    pub fn set_plan(&self, plan: Option<Plan>) {
        *self.plan.write().unwrap_or_else(PoisonError::into_inner) = plan.map(Arc::new);
    }

    /// Address of a node outside every tree.
    pub fn next_sink(&self) -> *mut u8 {
        let taken = self.sinks_taken.fetch_add(1, Ordering::Relaxed);
        let sink = self.sinks.get(taken % SINKS).copied().unwrap_or_default();
        self.arena.address(sink)
    }

    /// Whether threads have the published slot in a field of their own.
    pub fn is_direct(&self) -> bool {
        self.direct.load(Ordering::Relaxed)
    }

    /// `java.lang.Thread` has its fields.
    pub fn set_direct(&self) {
        self.direct.store(true, Ordering::Relaxed);
    }

    /// Whether threads have tallies, or may get them.
    pub fn has_tallies(&self) -> bool {
        // A field for them is there from the first time on, or never.
        !self.is_early() || self.tally_field
    }

    /// Whether somebody listens to an event.
    pub fn is_wanted(&self, listener: Listener, event: sys::jvmtiEvent) -> bool {
        self.events.is_wanted(listener, event)
    }

    /// Has the VM tell of threads that begin, platform and virtual.
    pub fn hear_of_new_threads(&self) -> Result<(), quipu_jvm::Error> {
        self.listen(Listener::Instrumentation, sys::JVMTI_EVENT_THREAD_START, true)?;
        if self.jvmti.capabilities()?.contains(Capability::CAN_SUPPORT_VIRTUAL_THREADS) {
            self.listen(Listener::Instrumentation, sys::JVMTI_EVENT_VIRTUAL_THREAD_START, true)?;
        }
        Ok(())
    }

    /// The VM tells of an event as long as there is a listener.
    pub fn listen(
        &self,
        listener: Listener,
        event: sys::jvmtiEvent,
        on: bool,
    ) -> Result<(), quipu_jvm::Error> {
        self.events.set(self.jvmti, listener, event, on)
    }

    /// Address of the tally that is never read; `None` if there is no room for it.
    pub fn unread_tally(&self) -> Option<usize> {
        *self.unread_tally.get_or_init(|| self.arena.add_tally(0, 0).map(|address| address as usize))
    }

    /// Tells the reader a fact; whether there was room for it. Most profiles are usable without.
    pub fn note(&self, key: &str, value: &str) -> bool {
        let value = mutf8::encode(value);
        self.arena.log(&Record::Info { key: key.as_bytes(), value: value.as_bytes() }).is_some()
    }

    /// Tells the reader, and the person at the target, why there is no profile.
    pub fn failed(&self, why: &str) {
        self.note("start.failed", why);
        complain(why);
    }

    /// Tells the reader what was left as it was.
    pub fn leave(&self, what: &[u8], why: &str) {
        let _ = self.arena.log(&Record::Left { what, why: why.as_bytes() });
    }

    /// A dense number for a class loader, kept as its tag; 0 is the boot loader.
    pub fn loader(&self, loader: Option<Object<'_>>) -> u32 {
        let Some(loader) = loader else { return 0 };
        let number = match self.jvmti.tag(loader) {
            Ok(0) => {
                let number = self.next_loader.fetch_add(1, Ordering::Relaxed);
                // Two threads may race to number a loader; each class then still has its own ids.
                let _ = self.jvmti.set_tag(loader, number);
                number
            }
            Ok(number) => number,
            Err(_) => self.next_loader.fetch_add(1, Ordering::Relaxed),
        };
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    /// The target is about to end.
    pub fn end(&self) {
        self.arena.end();
    }

    /// Adds to a counter of the arena's header.
    pub fn count(&self, field: u64, n: u64) {
        self.arena.add(field, n);
    }

    /// Nanoseconds spent in rewriting.
    pub fn spent(&self, nanos: u128) {
        self.count(header::REWRITE_NANOS, u64::try_from(nanos).unwrap_or(0));
    }
}

impl Known for Session {
    fn opaque(&self, call: &Call<'_>) -> Option<OpaqueCallee> {
        match self.world.callee(call) {
            Callee::Opaque(method) => {
                let id = self.registry.opaque(&self.arena, &method.class, call.name, call.descriptor)?;
                Some(OpaqueCallee { id, certain: method.certain, presumed: false })
            }
            // A constructor cannot be native, nor can a method of an interface.
            Callee::Unknown(_) if call.is_interface || call.name == b"<init>" => None,
            Callee::Unknown(awaited) => {
                let id = self.presumed.presume(&self.registry, call, awaited)?;
                Some(OpaqueCallee { id, certain: false, presumed: true })
            }
            Callee::Other => None,
        }
    }

    fn overrides_opaque(&self, class: &ClassFile<'_>, name: &[u8], descriptor: &[u8]) -> bool {
        self.world.overrides_opaque(class, name, descriptor)
    }

    fn site(&self, site: &Site<'_>) -> Option<u32> {
        self.sites.number(&self.arena, site)
    }

    fn timing(&self, method: &Method<'_, '_>, id: u32) -> Option<Timing> {
        root::timing(self, method, id)
    }

    fn regions(&self, method: &Method<'_, '_>) -> Vec<Region> {
        root::regions(method)
    }
}

fn arena_path(directory: &Path) -> PathBuf {
    let mut token = [0u8; 8];
    // SAFETY: the kernel writes at most eight bytes. A short answer leaves zeros, and `create_new` guards the name.
    unsafe { libc::getrandom(token.as_mut_ptr().cast(), token.len(), 0) };
    directory.join(place::file_name(std::process::id(), u64::from_ne_bytes(token)))
}
