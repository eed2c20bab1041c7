//! What the code that counts costs for each call, measured in this VM: CPU time that is sampled while everything is counted can
//! then be told apart from what counting takes.
//!
//! A loop over small methods is defined as it is and, several times, counted. A thread of ours runs all of them in turns, by its
//! own CPU time, and compares the fastest rounds. When the JIT comes to them is not known: everything that is counted waits for
//! it then. So a few rounds are run again and again, at growing distances, and what is found is told whenever it has changed.
//! What the JIT makes of them is not always the same either (0.5 to 2 ns a call on JDK 17, by what it had inlined when), which is
//! why there are several counted loops: the one in the middle counts. That is done once for each way of counting, beside the
//! program.

use std::ffi::CStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quipu_jvm::jni::kind;
use quipu_jvm::{Env, Error, Global, MethodId, sys};
use quipu_rewrite::{Plan, Selection};

use crate::classes;
use crate::dialect;
use crate::locks::lock;
use crate::own_thread;
use crate::session::Session;
use crate::start;

/// What the counted ones are called: their package may be instrumented.
const COUNTED: [&CStr; 5] = [
    c"quipu/own/Calibrated1",
    c"quipu/own/Calibrated2",
    c"quipu/own/Calibrated3",
    c"quipu/own/Calibrated4",
    c"quipu/own/Calibrated5",
];
/// The loop as it is, and the counted ones.
const LOOPS: usize = 1 + COUNTED.len();

/// Rounds of the loop in one measurement.
const ROUNDS: i32 = 100_000;
/// Measurements at a time.
const AT_A_TIME: u32 = 3;
/// From the first time to the second, doubled from time to time up to the last: ten seconds in all, in which the thread
/// sleeps. On two busy cores the JIT had not come to the counted loop after half a second.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LAST_PAUSE: Duration = Duration::from_secs(5);

struct Loops {
    /// The plain one first.
    classes: [Global<kind::Class>; LOOPS],
    run: [MethodId; LOOPS],
    /// Calls in a round.
    calls: i32,
}

/// What has been found out so far.
#[derive(Clone)]
struct Found {
    /// The way of counting.
    way: String,
    /// The least that the rounds of each loop have taken.
    least: [Duration; LOOPS],
    /// What a call costs.
    picos: u64,
    /// Whether all measurements have been made.
    settled: bool,
}

static DEFINED: Mutex<Option<Loops>> = Mutex::new(None);
static FOUND: Mutex<Option<Found>> = Mutex::new(None);
static RUNNING: AtomicBool = AtomicBool::new(false);

/// The plan by which counted loops are rewritten, whatever the user's filters say; `None` for other classes.
pub fn plan_of(class: &[u8], plan: &Plan) -> Option<Plan> {
    let is_counted = COUNTED.iter().any(|name| name.to_bytes() == class);
    is_counted.then(|| Plan { selection: Selection::default(), ..plan.clone() })
}

/// Something is counted or sampled from now on: if both, it is found out what a call costs, and told.
pub fn begin(session: &'static Session, env: &Env<'_>) {
    let Some(plan) = session.plan().filter(|plan| plan.publishes()) else { return };
    let way = way(session, &plan);
    if let Some(found) = lock(&FOUND).as_ref().filter(|found| found.way == way) {
        session.note("probe.picos", &found.picos.to_string());
        if found.settled {
            return;
        }
    }
    if !RUNNING.swap(true, Ordering::AcqRel)
        && own_thread::start(session.jvmti, env, "Quipu calibration", measure).is_err()
    {
        RUNNING.store(false, Ordering::Release);
    }
}

/// How it is counted now, if it is.
fn current_way(session: &Session) -> Option<String> {
    session.plan().filter(|plan| plan.publishes()).map(|plan| way(session, &plan))
}

/// What the cost depends on.
fn way(session: &Session, plan: &Plan) -> String {
    format!("{} {:?}", session.is_direct(), plan.counting)
}

/// The thread's body.
fn measure(env: &mut Env<'_>) {
    if let Some(session) = Session::get() {
        // What is done here is not the program's.
        let _ = start::aside(env, true);
        // Without it there is no correction, which the profile shows.
        let _ = env.with_frame(16, |env| find(session, env));
        let _ = start::aside(env, false);
        env.clear_exception();
    }
    RUNNING.store(false, Ordering::Release);
}

/// Measures until the last pause is over, or counting ends.
fn find(session: &Session, env: &Env<'_>) -> Result<(), Error> {
    let mut loops = lock(&DEFINED);
    if loops.is_none() {
        *loops = Loops::define(session, env)?;
    }
    let Some(loops) = loops.as_ref() else { return Ok(()) };
    let Some(way) = current_way(session) else { return Ok(()) };
    let known = lock(&FOUND).clone().filter(|found| found.way == way);
    let mut least = known.map_or([Duration::MAX; LOOPS], |found| found.least);
    let mut pause = FIRST_PAUSE;
    loop {
        let mut fastest = least;
        for _ in 0..AT_A_TIME {
            for (which, fastest) in loops.each().zip(&mut fastest) {
                *fastest = time(env, which)?.min(*fastest);
            }
        }
        // What ran while counting ended or became another was not counted, or in another way.
        if current_way(session).as_ref() != Some(&way) {
            return Ok(());
        }
        let picos = loops.cost(fastest);
        if fastest != least {
            session.note("probe.picos", &picos.to_string());
        }
        least = fastest;
        let settled = pause > LAST_PAUSE;
        *lock(&FOUND) = Some(Found { way: way.clone(), least, picos, settled });
        if settled || !still_counted_after(pause, session, &way) {
            return Ok(());
        }
        pause *= 2;
    }
}

/// Waits, but not for long when counting has ended: the thread is to be gone then.
fn still_counted_after(pause: Duration, session: &Session, way: &str) -> bool {
    let end = Instant::now() + pause;
    loop {
        let rest = end.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return true;
        }
        std::thread::sleep(rest.min(Duration::from_millis(50)));
        if current_way(session).as_deref() != Some(way) {
            return false;
        }
    }
}

impl Loops {
    fn define(session: &Session, env: &Env<'_>) -> Result<Option<Loops>, Error> {
        let classes = classes::CALIBRATION.unpack();
        let Some((name, bytes)) = classes.first() else { return Ok(None) };
        let plain = dialect::define(env, session.jvmti, name, bytes)?;
        let run = |class| env.static_method(class, c"run", c"(I)V");
        let calls = env.static_method(plain, c"calls", c"()I")?;
        // SAFETY: the method takes nothing and returns an int.
        let calls = unsafe { env.call_static_int(plain, calls, &[])? };
        let (mut classes, mut methods) = (vec![env.new_global(plain)?], vec![run(plain)?]);
        for counted in COUNTED {
            // Our own classes can be read.
            let bytes = dialect::renamed(bytes, &[(name.to_bytes(), counted.to_bytes())]).unwrap_or_default();
            let class = env.define_class(counted, None, &bytes)?;
            classes.push(env.new_global(class)?);
            methods.push(run(class)?);
        }
        let (Ok(classes), Ok(run)) = (classes.try_into(), methods.try_into()) else { return Ok(None) };
        Ok(Some(Loops { classes, run, calls }))
    }

    fn each(&self) -> impl Iterator<Item = (&Global<kind::Class>, MethodId)> {
        self.classes.iter().zip(self.run)
    }

    /// What a call costs in picoseconds, if the rounds of the loops take so long.
    fn cost(&self, [plain, counted @ ..]: [Duration; LOOPS]) -> u64 {
        let calls = u128::from(ROUNDS.unsigned_abs()) * u128::from(self.calls.max(1).unsigned_abs());
        let picos = median(counted).saturating_sub(plain).as_nanos() * 1000 / calls;
        u64::try_from(picos).unwrap_or(u64::MAX)
    }
}

fn median(mut times: [Duration; COUNTED.len()]) -> Duration {
    times.sort_unstable();
    let [.., middle, _, _] = times;
    middle
}

/// The CPU time that the rounds of a loop take.
fn time(env: &Env<'_>, (class, run): (&Global<kind::Class>, MethodId)) -> Result<Duration, Error> {
    let began = cpu_time();
    // SAFETY: the method takes an int and returns nothing.
    unsafe { env.call_static_void(class.get(), run, &[sys::jvalue { i: ROUNDS }])? };
    Ok(cpu_time().saturating_sub(began))
}

/// Of this thread.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills a structure of this frame.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quipu_classfile::ClassFile;

    #[test]
    fn counted_loops_are_other_classes_that_may_be_instrumented() {
        let classes = classes::CALIBRATION.unpack();
        let (name, bytes) = classes.first().unwrap();
        for counted in COUNTED {
            let bytes = dialect::renamed(bytes, &[(name.to_bytes(), counted.to_bytes())]).unwrap();
            let class = ClassFile::parse(&bytes).unwrap();
            assert_eq!(class.name(), counted.to_bytes());
            assert_eq!(quipu_rewrite::untouchable(class.name()), None);
        }
    }

    #[test]
    fn the_loop_in_the_middle_counts() {
        assert_eq!(median([9, 1, 5, 7, 2].map(Duration::from_secs)), Duration::from_secs(5));
    }
}
