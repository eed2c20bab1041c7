//! Objects as they are made: the VM chooses some as samples, so that each byte has the same chance.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use quipu_arena::layout::detail;
use quipu_jvm::{Capabilities, Capability, Class, Env, Error, Thread, sys};
use quipu_kinds::{ALL, Chosen, Kind};
use quipu_rewrite::Instrument;

use super::{interval, made};
use crate::engine::{Engine, SampledObject};
use crate::events::Listener;
use crate::options::Options;
use crate::session::Session;
use crate::sites::lasting;
use crate::stacks::metrics::{self, Declared};
use crate::stacks::record::{self, Charge};
use crate::stacks::{details, monotonic};
use crate::start;

/// Sampled objects.
pub struct Alloc {
    /// Bytes from one sample to the next, on average; 0 while there are none.
    every: AtomicU64,
    metric: AtomicU16,
}

/// The only one.
pub static ALLOC: Alloc = Alloc { every: AtomicU64::new(0), metric: AtomicU16::new(0) };

impl Alloc {
    fn set(&self, session: &'static Session, chosen: &Chosen) -> Result<(), String> {
        let every = match wants_all(chosen) {
            true => OF_NATIVE_CODE,
            false => chosen.number(self.kind().name()).unwrap_or(0).clamp(1, i32::MAX as u64),
        };
        interval::want(session, interval::Of::Alloc, every)?;
        if let [bytes, count, native] = self.kind().metrics {
            let declared = match wants_all(chosen) {
                true => Declared::of(native, every),
                false => Declared { count: count.name, ..Declared::of(bytes, every) },
            };
            self.metric.store(metrics::declare(&session.arena, &declared), Ordering::Release);
        }
        self.every.store(every, Ordering::Release);
        Ok(())
    }
}

impl Engine for Alloc {
    fn kind(&self) -> &'static Kind {
        &quipu_kinds::ALLOC
    }

    fn start(&self, session: &'static Session, env: &mut Env<'_>, options: &Options) -> Result<(), String> {
        let all = wants_all(&options.chosen);
        if all != made::is_on() {
            // From samples to all, or back.
            self.stop(session, env)?;
        }
        if all {
            made::start(session, env, options, self.kind())?;
        }
        let needed = Capability::CAN_GENERATE_SAMPLED_OBJECT_ALLOC_EVENTS;
        let missing = session.jvmti.add_available_capabilities(&Capabilities::of(&[needed]));
        if missing.map_err(|e| e.to_string())?.contains(needed) {
            if all {
                session.leave(b"what native code allocates", "this JVM tells of no objects that are made");
                return Ok(());
            }
            let needs = self.kind().needs();
            return Err([
                "this JVM tells of no objects that are made: ",
                &needs,
                ", and no other agent that samples them",
            ]
            .concat());
        }
        start::record(session, env, self.kind().name(), true, options)?;
        session.note("kind", self.kind().name());
        self.set(session, &options.chosen)?;
        let event = sys::JVMTI_EVENT_SAMPLED_OBJECT_ALLOC;
        session.listen(Listener::Allocation, event, true).map_err(|e| e.to_string())
    }

    fn change(
        &self,
        session: &'static Session,
        _: &mut Env<'_>,
        name: &str,
        chosen: &Chosen,
    ) -> Result<(), String> {
        match name == self.kind().name() {
            true if self.status(session).is_none() => {
                Err("no objects are sampled: start alloc first".to_owned())
            }
            true if wants_all(chosen) != made::is_on() => Err(
                "to count all objects instead of sampling them, or to sample them again, start alloc anew"
                    .to_owned(),
            ),
            true if made::is_on() => Ok(()),
            true => self.set(session, chosen),
            false => Ok(()),
        }
    }

    fn stop(&self, session: &'static Session, env: &mut Env<'_>) -> Result<(), String> {
        made::stop(session, env)?;
        if self.every.swap(0, Ordering::AcqRel) == 0 {
            return Ok(());
        }
        interval::want(session, interval::Of::Alloc, 0)?;
        let event = sys::JVMTI_EVENT_SAMPLED_OBJECT_ALLOC;
        let silent = session.listen(Listener::Allocation, event, false).map_err(|e| e.to_string());
        start::record(session, env, self.kind().name(), false, &session.options()).and(silent)
    }

    fn instrument(
        &self,
        session: &'static Session,
        env: &mut Env<'_>,
        options: &Options,
    ) -> Result<Option<Arc<dyn Instrument>>, Error> {
        wants_all(&options.chosen).then(|| made::instrument(session, env, self.kind())).transpose()
    }

    fn class_loaded(&self, env: &Env<'_>, _: Thread<'_>, class: Class<'_>) {
        if let Some(session) = Session::get().filter(|_| made::is_on()) {
            made::tell_size(session, env, class);
        }
    }

    fn status(&self, _: &Session) -> Option<String> {
        if made::is_on() {
            return Some(ALL.to_owned());
        }
        Some(self.every.load(Ordering::Acquire)).filter(|&every| every > 0).map(|every| every.to_string())
    }

    fn object_sampled(&self, env: &Env<'_>, made: &SampledObject<'_>) {
        let every = self.every.load(Ordering::Acquire);
        let (true, Some(session)) = (every > 0, Session::get()) else { return };
        if made::is_on() && !made::is_by_native_code(session, env, made.thread) {
            return;
        }
        let Some(here) = made.here(env) else { return };
        let Ok(signature) = session.jvmti.class_signature(made.class) else { return };
        let detail = details::number(&session.arena, detail::ALLOCATED, &lasting(signature.as_bytes()), 0);
        let time = monotonic();
        let stands_for = Weight::of(made.size, interval::now());
        let count = stands_for.count(time);
        let charge =
            Charge { metric: self.metric.load(Ordering::Acquire), value: stands_for.bytes, count, detail };
        record::charge(time, here, charge);
    }
}

/// Bytes from one sample to the next where everything is counted but what native code makes.
const OF_NATIVE_CODE: u64 = 512 << 10;

/// Whether everything is to be counted, and not a sample of it.
fn wants_all(chosen: &Chosen) -> bool {
    chosen.get("alloc") == Some(ALL)
}

/// What an object that was chosen stands for.
#[derive(Debug, Clone, Copy)]
pub struct Weight {
    /// Bytes.
    pub bytes: u64,
    objects: f64,
}

impl Weight {
    /// The distance from one sample to the next is random, with no memory (it is exponential): an object of `size` bytes is
    /// chosen with the probability 1 - e^(-size / every). What is chosen is divided by that, so that sums are what they would
    /// be if everything were chosen, on average.
    pub fn of(size: u64, every: u64) -> Weight {
        let chance = -(-(size as f64) / every as f64).exp_m1();
        let objects = if chance > 0.0 { 1.0 / chance } else { 1.0 };
        Weight { bytes: (size as f64 * objects).round() as u64, objects }
    }

    /// A whole number of objects: rounded up as often as keeps the average, by bits that nobody chose.
    pub fn count(self, entropy: u64) -> u32 {
        let bits = entropy.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (self.objects + bits as f64 / 2f64.powi(32)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_stands_for_those_that_were_not_chosen() {
        let small = Weight::of(16, 512 << 10);
        // One in 32,768 of them, and each stands for so many.
        assert!((small.objects - 32_768.5).abs() < 0.01, "{small:?}");
        assert!((small.bytes as i64 - (512 << 10)).abs() <= 8, "{small:?}");
        // What is far larger than the distance is always chosen.
        let large = Weight::of(64 << 20, 512 << 10);
        assert_eq!((large.bytes, large.count(1), large.count(u64::MAX)), (64 << 20, 1, 1));
        // Everything, where every byte is a sample.
        assert_eq!(Weight::of(24, 1).bytes, 24);
    }

    #[test]
    fn counts_are_right_on_average() {
        let weight = Weight { bytes: 0, objects: 1.25 };
        let sum: u64 = (0..10_000u64).map(|n| u64::from(weight.count(n * 977))).sum();
        assert!((12_400..12_600).contains(&sum), "{sum}");
    }
}
