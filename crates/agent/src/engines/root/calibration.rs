//! What measuring takes: within a method that is timed, in its caller, and where a tiny method only counts its calls. It is
//! measured in this VM when the profile begins, as soon as the code that does it is compiled, and again when it ends.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quipu_jvm::Env;

use super::runtime;

use crate::locks::lock;
use crate::own_thread;
use crate::session::Session;

/// Calls in one measurement.
const CALLS: i32 = 10_000;
/// So many measurements are thrown away, in which the JIT comes to the code; and so many count.
const WARM_UP: u32 = 60;
const COUNTED: usize = 31;
/// On a machine that is busy the JIT may need longer than that: it is begun again, so often at the most, until half of the
/// measurements are no further apart than this part of them.
const ROUNDS: u32 = 8;
const STEADY: u64 = 10;
/// Between two of the first.
const PAUSE: Duration = Duration::from_millis(4);
/// Who asks for the end of a profile waits no longer than this for the first result, which takes a third of a second on a machine
/// that is not busy.
const PATIENCE: Duration = Duration::from_secs(3);

static RUNNING: AtomicBool = AtomicBool::new(false);
/// The least that was found in this VM. Whatever else takes the processor makes it more, and never less.
static LEAST: Mutex<Option<Cost>> = Mutex::new(None);

/// In picoseconds a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cost {
    within: u64,
    outside: u64,
    counted: u64,
    /// Half of how far the half of the measurements that is in the middle is spread.
    spread: u64,
}

impl Cost {
    fn sum(&self) -> u64 {
        self.within + self.outside
    }
}

/// A profile begins. The program does not wait for it.
pub fn begin(session: &'static Session, env: &Env<'_>) {
    if let Some(cost) = *lock(&LEAST) {
        tell(session, "before", cost);
        return;
    }
    if !RUNNING.swap(true, Ordering::AcqRel)
        && own_thread::start(session.jvmti, env, "Quipu calibration of the clock", run).is_err()
    {
        RUNNING.store(false, Ordering::Release);
    }
}

fn run(env: &mut Env<'_>) {
    if let Some(session) = Session::get() {
        for _ in 0..ROUNDS {
            for _ in 0..WARM_UP {
                let _ = measure(env);
                std::thread::sleep(PAUSE);
            }
            let Some(cost) = cost(env) else { break };
            tell(session, "before", least(cost));
            if !super::ROOT.is_on() || cost.spread <= cost.sum() / STEADY {
                break;
            }
        }
        env.clear_exception();
    }
    RUNNING.store(false, Ordering::Release);
}

/// Waits until something is known, if that is to be expected, and tells it.
pub fn wait(session: &Session) {
    let until = Instant::now() + PATIENCE;
    while RUNNING.load(Ordering::Acquire) && lock(&LEAST).is_none() && Instant::now() < until {
        std::thread::sleep(PAUSE);
    }
    if let Some(cost) = *lock(&LEAST) {
        tell(session, "before", cost);
    }
}

/// A profile ends.
pub fn end(session: &Session, env: &Env<'_>) {
    // Two measurements at once would be of both.
    if let (false, Some(cost)) = (RUNNING.load(Ordering::Acquire), cost(env)) {
        least(cost);
        tell(session, "after", cost);
    }
}

/// The least so far, this one included.
fn least(cost: Cost) -> Cost {
    let mut least = lock(&LEAST);
    let now = least.filter(|least| least.sum() <= cost.sum()).unwrap_or(cost);
    *least = Some(now);
    now
}

fn tell(session: &Session, when: &str, cost: Cost) {
    let Cost { within, outside, counted, spread } = cost;
    session.note(&["root.cost.", when].concat(), &format!("{within} {outside} {counted} {spread}"));
}

/// The measurement that a quarter of several are below: what takes the processor meanwhile is in the others.
fn cost(env: &Env<'_>) -> Option<Cost> {
    let mut measured: Vec<[u64; 3]> = Vec::new();
    for _ in 0..COUNTED {
        let new = measure(env)?;
        let at = measured.iter().take_while(|known| known[0] + known[1] <= new[0] + new[1]).count();
        measured.insert(at, new);
    }
    let sum = |at: usize| measured.get(at).map(|[within, outside, _]| within + outside);
    let &[within, outside, counted] = measured.get(COUNTED / 4)?;
    let spread = sum(3 * COUNTED / 4)?.saturating_sub(sum(COUNTED / 4)?) / 2;
    Some(Cost { within, outside, counted, spread })
}

/// Three numbers, of 21 bits each.
fn measure(env: &Env<'_>) -> Option<[u64; 3]> {
    const BITS: u32 = 21;
    const MASK: u64 = (1 << BITS) - 1;
    let packed = u64::try_from(runtime::calibrate(env, CALLS)?).ok()?;
    Some([packed >> (2 * BITS), packed >> BITS & MASK, packed & MASK])
}
