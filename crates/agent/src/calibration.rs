//! What the code that counts costs for each call, measured in this VM: CPU time that is sampled while everything is counted can
//! then be told apart from what counting takes.
//!
//! A loop over small methods is defined twice, as it is and counted. A thread of ours runs both in turns until they are
//! compiled and get no faster; the fastest rounds are compared. That is done once for each way of counting, beside the program.

use std::ffi::CStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quipu_jvm::jni::kind;
use quipu_jvm::{Env, Error, Global, MethodId, sys};
use quipu_rewrite::{Plan, Selection};

use crate::dialect;
use crate::locks::lock;
use crate::own_thread;
use crate::session::Session;
use crate::start;

/// The loop as it is.
const CLASSES: &[(&CStr, &[u8])] = include!(concat!(env!("OUT_DIR"), "/calibration_classes.rs"));
/// What the counted one is called: its package may be instrumented.
const COUNTED: &CStr = c"quipu/own/Calibrated";

/// Rounds of the loop in one measurement.
const ROUNDS: i32 = 100_000;
/// Measurements that bring nothing before it is over, and the time after which it is in any case.
const IN_VAIN: u32 = 8;
const LONGEST: Duration = Duration::from_millis(500);

struct Loops {
    plain: Global<kind::Class>,
    counted: Global<kind::Class>,
    /// Methods of the two.
    time: [MethodId; 2],
    calls: i32,
}

static LOOPS: Mutex<Option<Loops>> = Mutex::new(None);
/// What a call costs in picoseconds, and for which way of counting that was found out.
static FOUND: Mutex<Option<(String, u64)>> = Mutex::new(None);
static RUNNING: AtomicBool = AtomicBool::new(false);

/// The plan by which the counted loop is rewritten, whatever the user's filters say; `None` for other classes.
pub fn plan_of(class: &[u8], plan: &Plan) -> Option<Plan> {
    let is_counted = class == COUNTED.to_bytes();
    is_counted.then(|| Plan { selection: Selection::default(), ..plan.clone() })
}

/// Something is counted or sampled from now on: if both, it is found out what a call costs, and told.
pub fn begin(session: &'static Session, env: &Env<'_>) {
    let Some(plan) = session.plan().filter(|plan| plan.publishes()) else { return };
    let way = way(session, &plan);
    if let Some((_, picos)) = lock(&FOUND).as_ref().filter(|(found, _)| *found == way) {
        return session.note("probe.picos", &picos.to_string());
    }
    // Without it there is no correction, which the profile shows.
    if !RUNNING.swap(true, Ordering::AcqRel)
        && own_thread::start(session.jvmti, env, "Quipu calibration", measure).is_err()
    {
        RUNNING.store(false, Ordering::Release);
    }
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
        let found = env.with_frame(16, |env| find(session, env));
        let _ = start::aside(env, false);
        if let (Ok(Ok(picos)), Some(plan)) = (found, session.plan()) {
            *lock(&FOUND) = Some((way(session, &plan), picos));
            session.note("probe.picos", &picos.to_string());
        }
        env.clear_exception();
    }
    RUNNING.store(false, Ordering::Release);
}

fn find(session: &Session, env: &Env<'_>) -> Result<u64, Error> {
    let mut loops = lock(&LOOPS);
    if loops.is_none() {
        *loops = Loops::define(session, env)?;
    }
    let Some(loops) = loops.as_ref() else { return Ok(0) };
    let began = Instant::now();
    let (mut least, mut in_vain) = ([i64::MAX; 2], 0);
    while in_vain < IN_VAIN && began.elapsed() < LONGEST {
        in_vain += 1;
        for (which, least) in least.iter_mut().enumerate() {
            let nanos = loops.time(env, which)?;
            // A hundredth less is chance.
            if nanos < *least - *least / 100 {
                in_vain = 0;
            }
            *least = nanos.min(*least);
        }
    }
    let [plain, counted] = least;
    let calls = i64::from(ROUNDS) * i64::from(loops.calls.max(1));
    Ok((counted - plain).max(0).cast_unsigned() * 1000 / calls.cast_unsigned())
}

impl Loops {
    fn define(session: &Session, env: &Env<'_>) -> Result<Option<Loops>, Error> {
        let Some((name, bytes)) = CLASSES.first() else { return Ok(None) };
        let plain = dialect::define(env, session.jvmti, name, bytes)?;
        // Our own classes can be read.
        let counted = dialect::renamed(bytes, &[(name.to_bytes(), COUNTED.to_bytes())]).unwrap_or_default();
        let counted = env.define_class(COUNTED, None, &counted)?;
        let calls = env.static_method(plain, c"calls", c"()I")?;
        Ok(Some(Loops {
            time: [
                env.static_method(plain, c"time", c"(I)J")?,
                env.static_method(counted, c"time", c"(I)J")?,
            ],
            // SAFETY: the method takes nothing and returns an int.
            calls: unsafe { env.call_static_int(plain, calls, &[])? },
            plain: env.new_global(plain)?,
            counted: env.new_global(counted)?,
        }))
    }

    fn time(&self, env: &Env<'_>, which: usize) -> Result<i64, Error> {
        let class = if which == 0 { self.plain.get() } else { self.counted.get() };
        let [plain, counted] = self.time;
        let method = if which == 0 { plain } else { counted };
        // SAFETY: the method takes an int and returns a long.
        unsafe { env.call_static_long(class, method, &[sys::jvalue { i: ROUNDS }]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quipu_classfile::ClassFile;

    #[test]
    fn the_counted_loop_is_another_class_that_may_be_instrumented() {
        let (name, bytes) = CLASSES.first().unwrap();
        let bytes = dialect::renamed(bytes, &[(name.to_bytes(), COUNTED.to_bytes())]).unwrap();
        let class = ClassFile::parse(&bytes).unwrap();
        assert_eq!(class.name(), COUNTED.to_bytes());
        assert_eq!(quipu_rewrite::untouchable(class.name()), None);
    }
}
