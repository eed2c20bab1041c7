//! Call edges, sampled in windows that a timer opens (Arnold and Grove): time says when to look, calls are what is counted.
//!
//! Nothing is inserted anywhere, and between windows a thread runs the code that it would run without us. For a window, the VM
//! is asked to tell of the methods that one thread enters (`MethodEntry`, for that thread): it has the thread go on in the
//! interpreter, where each call of the bytecode is seen, those as well that the compiler has inlined. Compiled code stays as it
//! is; frames of the thread that are on its stack become the interpreter's, and what it calls after the window is compiled code
//! again.
//!
//! A window ends when it has its samples, or after [`PATIENCE`]: a thread that computes and calls nothing must not be left in the
//! interpreter.

mod turns;
mod window;

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quipu_jvm::{Capabilities, Capability, Env, Thread, jdk_version, sys};
use quipu_kinds::{Chosen, Kind};

use crate::engine::Engine;
use crate::locks::lock;
use crate::options::Options;
use crate::own_thread;
use crate::session::Session;
use crate::stacks::busy::{Busy, Ran, cpu_time};
use crate::stacks::metrics::{self, Declared};
use crate::stacks::monotonic;
use crate::stacks::record::{self, Charge};
use crate::start;
use turns::Turns;
use window::{Call, Window};

/// The CPU time for which a window is open at the most. It is the thread's own: on a machine with other things to do, a thread may
/// have to wait for longer than that until it is its turn to run.
const PATIENCE: Duration = Duration::from_millis(1);
/// The longest that a window is open, whether its thread runs or not.
const LONGEST: Duration = Duration::from_millis(20);
/// Windows that are open at the same time.
const AT_ONCE: usize = 64;
/// References to a thread and its class.
const REFERENCES: u16 = 2;
/// The longest that it may be from one window to the next, in nanoseconds.
const LONGEST_TICK: u64 = 1_000_000_000;

/// Not windows, but the first call after each tick.
const TIMER: &str = "timer";

/// The class of threads that carry virtual ones.
const CARRIER: &[u8] = b"Ljdk/internal/misc/CarrierThread;";

/// What the VM is asked to tell of.
const EVENT: sys::jvmtiEvent = sys::JVMTI_EVENT_METHOD_ENTRY;

/// Sampled call edges.
pub struct Calls {
    on: AtomicBool,
    /// Whether it is the first call after each tick, and nothing else.
    by_timer: AtomicBool,
    /// Nanoseconds.
    tick: AtomicU64,
    stride: AtomicU32,
    samples: AtomicU32,
    /// Callers that a sample has; 0 for its whole stack.
    depth: AtomicU32,
    metric: AtomicU16,
    /// The number of the tick. A window is of one of them.
    round: AtomicU64,
    /// Whether the thread runs that opens windows.
    running: Mutex<bool>,
    /// Held while windows are open.
    open: Mutex<()>,
}

/// The only one.
pub static CALLS: Calls = Calls {
    on: AtomicBool::new(false),
    by_timer: AtomicBool::new(false),
    tick: AtomicU64::new(0),
    stride: AtomicU32::new(1),
    samples: AtomicU32::new(1),
    depth: AtomicU32::new(0),
    metric: AtomicU16::new(0),
    round: AtomicU64::new(0),
    running: Mutex::new(false),
    open: Mutex::new(()),
};

thread_local! {
    /// The tick of the thread's last window.
    static ROUND: Cell<u64> = const { Cell::new(0) };
    /// That window, until it has ended.
    static WINDOW: Cell<Option<Window>> = const { Cell::new(None) };
    /// Whether the thread is taking a sample: what that calls is no call of the program.
    static SAMPLING: Cell<bool> = const { Cell::new(false) };
}

/// Asks for what the VM gives only to an agent that is there before it.
pub fn early(session: &Session, chosen: &Chosen) {
    if (chosen.has(CALLS.kind().name()) || chosen.has("idle")) && is_new_enough(session) {
        // A VM that cannot is told of when the kind is started.
        let _ = session.jvmti.add_available_capabilities(&needed());
    }
}

/// JDK 8 and 11 throw away the compiled code of all methods on a thread's stack when it is to go on in the interpreter: the
/// program would be compiled again and again.
fn is_new_enough(session: &Session) -> bool {
    jdk_version(session.jvmti).is_ok_and(|version| version.feature >= CALLS.kind().since)
}

fn needed() -> Capabilities {
    Capabilities::of(&[Capability::CAN_GENERATE_METHOD_ENTRY_EVENTS])
}

/// Opens windows until there are to be none. The thread's body.
fn run(env: &mut Env<'_>) {
    let (Some(session), Some(mut busy)) = (Session::get(), Busy::new()) else {
        let mut running = lock(&CALLS.running);
        CALLS.on.store(false, Ordering::Release);
        *running = false;
        return;
    };
    let mut turns = Turns::default();
    let mut next = Instant::now();
    loop {
        // A round that took longer than a tick is followed by the next one, not by several.
        next = (next + CALLS.tick()).max(Instant::now());
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        {
            let mut running = lock(&CALLS.running);
            if !CALLS.is_on() {
                *running = false;
                return;
            }
        }
        let round = CALLS.round.fetch_add(1, Ordering::AcqRel);
        let ran = busy.look();
        turns.keep(|id| busy.knows(id));
        let tick = CALLS.tick.load(Ordering::Acquire);
        let mut due = turns.of(&ran, tick, |id| random(round ^ u64::from(id)));
        while !due.is_empty() && CALLS.is_on() {
            let some = due.split_off(due.len().saturating_sub(AT_ONCE));
            let windows = |env: &mut Env<'_>| windows(session, env, &busy, &some);
            // Without memory for references, nothing is done.
            for id in env.with_frame(REFERENCES * AT_ONCE as u16, windows).unwrap_or_default() {
                turns.give_back(id, tick);
            }
        }
    }
}

/// A window that is open.
struct Open<'e> {
    thread: Thread<'e>,
    ran: Ran,
    /// CPU time that the thread had used, and the moment.
    used: u64,
    began: Instant,
}

impl Open<'_> {
    /// CPU time of the thread since then; `None` if it has ended.
    fn used(&self) -> Option<Duration> {
        cpu_time(self.ran.tid).map(|now| Duration::from_nanos(now.saturating_sub(self.used)))
    }
}

/// Opens windows for these threads, and closes them when their time is over. To have a thread go on in the interpreter takes until it
/// is its turn to run: those that came first are closed meanwhile. Returns the numbers of threads that have not run.
fn windows(session: &Session, env: &Env<'_>, busy: &Busy, threads: &[Ran]) -> Vec<u32> {
    // Whoever stops it waits for the lock, and finds nothing open behind it.
    let _open = lock(&CALLS.open);
    let (mut open, mut unused): (Vec<Open<'_>>, _) = (Vec::with_capacity(threads.len()), Vec::new());
    // References are kept, since which threads are watched may change.
    let mut close = |open: &mut Vec<Open<'_>>| {
        open.retain(|window| {
            let used = window.used();
            let is_over = used.is_none_or(|used| used >= PATIENCE) || window.began.elapsed() >= LONGEST;
            if is_over || !CALLS.is_on() {
                tell(session, window.thread, false);
                unused.extend(used.filter(Duration::is_zero).map(|_| window.ran.id));
                return false;
            }
            true
        });
    };
    for &ran in threads.iter().take_while(|_| CALLS.is_on()) {
        let thread = busy.thread(env, ran.tid).filter(|&thread| !carries(session, env, thread));
        if let Some(thread) = thread
            && tell(session, thread, true)
        {
            let used = cpu_time(ran.tid).unwrap_or_default();
            open.push(Open { thread, ran, used, began: Instant::now() });
        }
        close(&mut open);
    }
    while !open.is_empty() {
        std::thread::sleep(PATIENCE);
        close(&mut open);
    }
    unused
}

/// Has the VM tell of the methods that a thread enters, or not any more. Of one that has ended it cannot.
fn tell(session: &Session, thread: Thread<'_>, on: bool) -> bool {
    session.jvmti.set_event_mode(EVENT, on, Some(thread)).is_ok()
}

/// Whether virtual threads run on it. Where those are mounted is none of the program's calls.
fn carries(session: &Session, env: &Env<'_>, thread: Thread<'_>) -> bool {
    let signature = env.class_of(thread).and_then(|class| session.jvmti.class_signature(class));
    signature.is_ok_and(|signature| signature.as_bytes() == CARRIER)
}

impl Calls {
    fn is_on(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }

    fn tick(&self) -> Duration {
        Duration::from_nanos(self.tick.load(Ordering::Acquire))
    }

    /// Takes what was chosen, or what is the default.
    fn set(&self, chosen: &Chosen) {
        let by_timer = chosen.get(self.kind().name()) == Some(TIMER);
        self.by_timer.store(by_timer, Ordering::Release);
        self.set_tick(chosen);
        self.set_depth(chosen);
        for (name, place) in [("stride", &self.stride), ("samples", &self.samples)] {
            place.store(number(chosen, name).filter(|_| !by_timer).unwrap_or(1), Ordering::Release);
        }
    }

    fn set_tick(&self, chosen: &Chosen) {
        self.tick.store(chosen.number("tick").unwrap_or(LONGEST_TICK), Ordering::Release);
    }

    fn set_depth(&self, chosen: &Chosen) {
        self.depth.store(number(chosen, "depth").unwrap_or(0), Ordering::Release);
    }

    fn sample(&self, env: &Env<'_>, thread: Thread<'_>) {
        let here = match self.depth.load(Ordering::Relaxed) {
            0 => record::here(env, thread),
            callers => record::here_below(env, thread, callers as usize + 1),
        };
        let Some(here) = here else { return };
        let metric = self.metric.load(Ordering::Acquire);
        record::charge(monotonic(), here, Charge { metric, value: 1, count: 1, detail: 0 });
    }
}

fn number(chosen: &Chosen, name: &str) -> Option<u32> {
    chosen.number(name).and_then(|number| u32::try_from(number).ok())
}

/// Bits that nobody chose.
fn random(round: u64) -> u32 {
    let mixed = (monotonic() ^ round.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32
}

impl Engine for Calls {
    fn kind(&self) -> &'static Kind {
        &quipu_kinds::CALLS
    }

    fn start(&self, session: &'static Session, env: &mut Env<'_>, options: &Options) -> Result<(), String> {
        if !is_new_enough(session) {
            let needs = self.kind().needs();
            return Err([
                "this JVM would throw compiled code away each time calls are looked at: ",
                &needs,
                "; --calls exhaustive counts them all",
            ]
            .concat());
        }
        let missing = session.jvmti.add_available_capabilities(&needed()).map_err(|e| e.to_string())?;
        if missing.contains(Capability::CAN_GENERATE_METHOD_ENTRY_EVENTS) {
            return Err("a JVM tells of calls only to an agent that was there when it started: quipu run --calls, or quipu run \
                        --idle and quipu ctl PID start calls; --exact counts calls of a JVM that runs"
                .to_owned());
        }
        self.set(&options.chosen);
        start::record(session, env, self.kind().name(), true, options)?;
        session.note("kind", self.kind().name());
        for metric in self.kind().metrics {
            let number = metrics::declare(&session.arena, &Declared::of(metric, 1));
            self.metric.store(number, Ordering::Release);
        }
        let mut running = lock(&self.running);
        if !*running {
            // It waits for the lock before it looks whether it is on.
            if let Err(error) = own_thread::start(session.jvmti, env, "Quipu calls", run) {
                drop(running);
                start::record(session, env, self.kind().name(), false, options)?;
                return Err(error.to_string());
            }
            *running = true;
        }
        self.on.store(true, Ordering::Release);
        Ok(())
    }

    fn change(
        &self,
        _: &'static Session,
        _: &mut Env<'_>,
        name: &str,
        chosen: &Chosen,
    ) -> Result<(), String> {
        let concerned = self.kind().options.iter().any(|option| option.name == name);
        match name {
            _ if !concerned => Ok(()),
            _ if !self.is_on() => Err("no calls are sampled: start calls first".to_owned()),
            "tick" => {
                self.set_tick(chosen);
                Ok(())
            }
            "depth" => {
                self.set_depth(chosen);
                Ok(())
            }
            _ if self.by_timer.load(Ordering::Acquire) => {
                Err("one call is sampled after each tick: to have windows, start calls anew".to_owned())
            }
            _ => {
                let place = if name == "stride" { &self.stride } else { &self.samples };
                place.store(number(chosen, name).unwrap_or(1), Ordering::Release);
                Ok(())
            }
        }
    }

    fn stop(&self, session: &'static Session, env: &mut Env<'_>) -> Result<(), String> {
        if !self.on.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        // Windows that are open are closed first.
        drop(lock(&self.open));
        start::record(session, env, self.kind().name(), false, &session.options())
    }

    fn status(&self, _: &Session) -> Option<String> {
        let how = if self.by_timer.load(Ordering::Acquire) { TIMER } else { "windows" };
        self.is_on().then(|| how.to_owned())
    }

    fn vm_ends(&self, _: &mut Env<'_>) {
        self.on.store(false, Ordering::Release);
    }

    fn method_entered(&self, env: &Env<'_>, thread: Thread<'_>) {
        if SAMPLING.get() {
            return;
        }
        if !self.is_on() {
            // Nobody closes its window any more.
            if let Some(session) = Session::get() {
                tell(session, thread, false);
            }
            return;
        }
        let stride = self.stride.load(Ordering::Relaxed);
        let round = self.round.load(Ordering::Acquire);
        let open = match ROUND.replace(round) {
            before if before == round => WINDOW.get(),
            _ => Some(Window::open(stride, self.samples.load(Ordering::Relaxed), random(round))),
        };
        // One that has ended is being closed.
        let Some(mut window) = open else { return };
        let call = window.call(stride);
        WINDOW.set((call != Call::Last).then_some(window));
        if call == Call::Skipped {
            return;
        }
        SAMPLING.set(true);
        self.sample(env, thread);
        if let (Call::Last, Some(session)) = (call, Session::get()) {
            // If the VM does not do it now, it is told once more when the round ends.
            tell(session, thread, false);
        }
        SAMPLING.set(false);
    }
}
