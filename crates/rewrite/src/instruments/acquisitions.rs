//! Every lock that is acquired, and how long it is held: monitors, and what has the methods of `Lock`.
//!
//! | what | where it is told |
//! |---|---|
//! | `monitorenter` | behind it, where the method's own handler would unlock again |
//! | `monitorexit` | behind it, where its own handler does not come back |
//! | a synchronized method | at its entry and its exits, which have the lock |
//! | a call of `lock`, `lockInterruptibly` or `tryLock` | behind it; of whatever class it is said to be, if it is a `Lock` then |
//! | a call of `unlock` | behind it: should there be no stack left to tell, it is unlocked |
//! | a call of `super.lock()` and the like in what overrides it | not at all: it is told where that is called |
//! | a call of a `StampedLock` that returns a stamp, or that gives it back | behind it |
//! | a call of `Object.wait`, or of a condition's `await` | around it: the lock is not held meanwhile; and where what it throws arrives |

use quipu_classfile::opcode::{
    ACONST_NULL, ALOAD_0, DUP, DUP2, ICONST_0, INVOKESPECIAL, INVOKESTATIC, MONITORENTER, MONITOREXIT,
};
use quipu_classfile::{ClassFile, EditError, Instruction, Method, Snippet, VerificationType, access};

use crate::call::{Call, call_of};
use crate::instrument::{Inserter, Instrument, MethodEdit};
use crate::{Known, Plan, Treatment};

/// The instrument.
#[derive(Debug, Clone, Copy, Default)]
pub struct Acquisitions;

/// The runtime's class that takes what is told.
const RUNTIME: &str = "Held";

/// Locks are made of this; what is locked in it is the lock's own affair.
const LOCKS: &[u8] = b"java/util/concurrent/locks/";

/// What has the methods of `Lock`.
const LOCK_CLASSES: [&[u8]; 4] = [
    b"java/util/concurrent/locks/Lock",
    b"java/util/concurrent/locks/ReentrantLock",
    b"java/util/concurrent/locks/ReentrantReadWriteLock$ReadLock",
    b"java/util/concurrent/locks/ReentrantReadWriteLock$WriteLock",
];

/// Its methods are others than those of `Lock`.
const STAMPED: &[u8] = b"java/util/concurrent/locks/StampedLock";

/// What has the methods of `Condition`.
const CONDITION_CLASSES: [&[u8]; 3] = [
    b"java/util/concurrent/locks/Condition",
    b"java/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject",
    b"java/util/concurrent/locks/AbstractQueuedLongSynchronizer$ConditionObject",
];

const OLDEST_WITH_CLASS_CONSTANTS: u16 = 49;

impl Acquisitions {
    /// How it is called.
    pub const NAME: &'static str = "locks";
}

impl Instrument for Acquisitions {
    fn name(&self) -> &'static str {
        Acquisitions::NAME
    }

    fn inserter<'p>(&'p self, _: &ClassFile<'_>, _: &'p Plan, _: &'p dyn Known) -> Box<dyn Inserter + 'p> {
        Box::new(AcquisitionInserter::default())
    }
}

#[derive(Default)]
struct AcquisitionInserter {
    /// The variable with what a synchronized method has locked.
    monitor: Option<u16>,
    /// Variables for the other locks of the method.
    locals: Option<Locals>,
    /// Whether it waits.
    waits: bool,
}

/// What is about to be locked, and arguments that are put aside to get at it; those only where they are needed.
#[derive(Debug, Clone, Copy)]
struct Locals {
    lock: u16,
    number: u16,
    nanos: u16,
    other: u16,
}

/// What an instruction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Locking {
    Enter,
    Exit,
    /// Of a `Lock`: with a result that tells whether it was acquired, or without.
    Lock(bool, Sure),
    /// The same with a time to wait for it.
    LockInTime(Sure),
    Unlock(Sure),
    /// Of a `StampedLock`: with a time to wait for it, or without.
    Stamp(bool),
    Unstamp,
    /// With so many numbers: `wait(long, int)` has two.
    Wait(u8),
    Await,
}

/// Whether it is known that something is a `Lock`; otherwise that is looked at when it is executed.
type Sure = bool;

fn locking(method: &Method<'_, '_>, instruction: &Instruction<'_>) -> Option<Locking> {
    match instruction.opcode {
        MONITORENTER => Some(Locking::Enter),
        MONITOREXIT => Some(Locking::Exit),
        INVOKESTATIC => None,
        opcode => {
            let call = call_of(instruction, method.class().pool())?;
            // Who calls what overrides it is told of.
            let is_super = opcode == INVOKESPECIAL
                && (call.name, call.descriptor) == (method.name(), method.descriptor());
            called(&call).filter(|_| !is_super)
        }
    }
}

fn called(call: &Call<'_>) -> Option<Locking> {
    if call.owner == b"java/lang/Object" && call.name == b"wait" {
        return match call.descriptor {
            b"()V" => Some(Locking::Wait(0)),
            b"(J)V" => Some(Locking::Wait(1)),
            b"(JI)V" => Some(Locking::Wait(2)),
            _ => None,
        };
    }
    if CONDITION_CLASSES.contains(&call.owner) && call.name.starts_with(b"await") {
        return Some(Locking::Await);
    }
    if call.owner == STAMPED {
        return stamped(call);
    }
    let sure = LOCK_CLASSES.contains(&call.owner);
    match (call.name, call.descriptor) {
        (b"lock" | b"lockInterruptibly", b"()V") => Some(Locking::Lock(false, sure)),
        (b"tryLock", b"()Z") => Some(Locking::Lock(true, sure)),
        (b"tryLock", b"(JLjava/util/concurrent/TimeUnit;)Z") => Some(Locking::LockInTime(sure)),
        (b"unlock", b"()V") => Some(Locking::Unlock(sure)),
        _ => None,
    }
}

fn stamped(call: &Call<'_>) -> Option<Locking> {
    let takes = matches!(
        call.name,
        b"readLock"
            | b"writeLock"
            | b"readLockInterruptibly"
            | b"writeLockInterruptibly"
            | b"tryReadLock"
            | b"tryWriteLock"
    );
    match (call.name, call.descriptor) {
        (_, b"()J") if takes => Some(Locking::Stamp(false)),
        (_, b"(JLjava/util/concurrent/TimeUnit;)J") if takes => Some(Locking::Stamp(true)),
        (b"unlock" | b"unlockRead" | b"unlockWrite", b"(J)V") => Some(Locking::Unstamp),
        _ => None,
    }
}

impl Locking {
    fn waits(&self) -> bool {
        matches!(self, Locking::Wait(_) | Locking::Await)
    }
}

impl Inserter for AcquisitionInserter {
    fn before(&mut self, edit: &mut MethodEdit<'_, '_, '_, '_>) -> Result<(), EditError> {
        *self = AcquisitionInserter::default();
        let method = edit.method();
        // In code that the JIT may replace, nothing is locked that it would not lock.
        if edit.treatment == Treatment::Opaque || method.class().name().starts_with(LOCKS) {
            return Ok(());
        }
        let body = *edit.code.code();
        let all: Vec<Locking> =
            body.instructions().map_while(Result::ok).filter_map(|i| locking(&method, &i)).collect();
        self.locals = declare(edit, &all)?;
        self.waits = all.iter().any(Locking::waits);
        if method.is(access::SYNCHRONIZED) {
            self.monitor = enter_method(edit)?;
        }
        let Some(Locals { lock, number, nanos, other }) = self.locals else { return Ok(()) };
        for instruction in body.instructions() {
            let instruction = instruction?;
            let Some(what) = locking(&method, &instruction) else { continue };
            let mut s = Snippet::new();
            match what {
                Locking::Enter
                | Locking::Lock(..)
                | Locking::Exit
                | Locking::Unlock(_)
                | Locking::Stamp(false) => {
                    s.op(DUP).astore(lock);
                }
                Locking::Unstamp => {
                    s.lstore(number).op(DUP).astore(lock).lload(number);
                }
                Locking::LockInTime(_) | Locking::Stamp(true) => {
                    s.astore(other).lstore(number).op(DUP).astore(lock);
                    s.lload(number).aload(other);
                    // The verifier knows it as what it was.
                    let unit = edit.code.pool().class(b"java/util/concurrent/TimeUnit")?;
                    s.checkcast(unit);
                }
                Locking::Wait(numbers) => {
                    match numbers {
                        0 => s.op(DUP).astore(lock),
                        1 => s.lstore(number).op(DUP).astore(lock).lload(number),
                        _ => s.istore(nanos).lstore(number).op(DUP).astore(lock).lload(number).iload(nanos),
                    };
                    s.aload(lock);
                    edit.probes.call_class(RUNTIME, edit.code.pool(), &mut s, "pause", OBJECT)?;
                }
                Locking::Await => {
                    edit.probes.call_class(RUNTIME, edit.code.pool(), &mut s, "await", "()V")?;
                }
            }
            edit.code.insert_before(instruction.bci, &s)?;
        }
        Ok(())
    }

    fn after(&mut self, edit: &mut MethodEdit<'_, '_, '_, '_>) -> Result<(), EditError> {
        if let Some(locals) = self.locals {
            after_instructions(edit, locals)?;
        }
        if self.waits {
            after_exceptions(edit)?;
        }
        if let Some(monitor) = self.monitor {
            let mut s = Snippet::new();
            s.aload(monitor);
            edit.probes.call_class(RUNTIME, edit.code.pool(), &mut s, "exit", OBJECT)?;
            edit.code.insert_before_returns(&s)?;
            edit.code.catch_all(&s)?;
        }
        Ok(())
    }
}

const OBJECT: &str = "(Ljava/lang/Object;)V";

/// Makes the local variables that are needed.
fn declare(edit: &mut MethodEdit<'_, '_, '_, '_>, all: &[Locking]) -> Result<Option<Locals>, EditError> {
    if all.is_empty() {
        return Ok(None);
    }
    let object = edit.code.pool().class(b"java/lang/Object")?;
    let mut s = Snippet::new();
    let lock = edit.code.new_local(VerificationType::Object(object))?;
    let (mut number, mut nanos, mut other) = (0, 0, 0);
    s.op(ACONST_NULL).astore(lock);
    let in_time = |what: &Locking| matches!(what, Locking::LockInTime(_) | Locking::Stamp(true));
    let has_number =
        |what: &Locking| in_time(what) || matches!(what, Locking::Wait(1 | 2) | Locking::Unstamp);
    if all.iter().any(has_number) {
        number = edit.code.new_local(VerificationType::Long)?;
        s.long16(0).lstore(number);
    }
    if all.contains(&Locking::Wait(2)) {
        nanos = edit.code.new_local(VerificationType::Int)?;
        s.op(ICONST_0).istore(nanos);
    }
    if all.iter().any(in_time) {
        other = edit.code.new_local(VerificationType::Object(object))?;
        s.op(ACONST_NULL).astore(other);
    }
    edit.code.insert_entry(&s)?;
    Ok(Some(Locals { lock, number, nanos, other }))
}

/// Inserts what is told when a synchronized method begins; returns the variable with its lock.
fn enter_method(edit: &mut MethodEdit<'_, '_, '_, '_>) -> Result<Option<u16>, EditError> {
    let method = edit.method();
    let is_static = method.is(access::STATIC);
    if is_static && method.class().major_version() < OLDEST_WITH_CLASS_CONSTANTS {
        return Ok(None);
    }
    let Some(site) = edit.site(Acquisitions::NAME, 0, b"") else { return Ok(None) };
    let object = edit.code.pool().class(b"java/lang/Object")?;
    let monitor = edit.code.new_local(VerificationType::Object(object))?;
    let mut s = Snippet::new();
    if is_static {
        let class = edit.code.pool().class(method.class().name())?;
        s.ldc(class);
    } else {
        s.op(ALOAD_0);
    }
    s.op(DUP).astore(monitor);
    edit.probes.int(edit.code.pool(), &mut s, site)?;
    edit.probes.call_class(RUNTIME, edit.code.pool(), &mut s, "enter", "(Ljava/lang/Object;I)V")?;
    edit.code.insert_entry(&s)?;
    Ok(Some(monitor))
}

/// Inserts what is told behind instructions.
fn after_instructions(
    edit: &mut MethodEdit<'_, '_, '_, '_>,
    Locals { lock, .. }: Locals,
) -> Result<(), EditError> {
    let method = edit.method();
    let body = *edit.code.code();
    for instruction in body.instructions() {
        let instruction = instruction?;
        let Some(what) = locking(&method, &instruction) else { continue };
        let mut s = Snippet::new();
        match what {
            Locking::Enter | Locking::Lock(..) | Locking::LockInTime(_) | Locking::Stamp(_) => {
                let Some(site) = edit.site(Acquisitions::NAME, instruction.bci, b"") else { continue };
                let (tells, probe, descriptor) = match what {
                    Locking::Lock(true, true) | Locking::LockInTime(true) => {
                        (Some(DUP), "enterIf", "(ZLjava/lang/Object;I)V")
                    }
                    Locking::Lock(true, false) | Locking::LockInTime(false) => {
                        (Some(DUP), "enterLockIf", "(ZLjava/lang/Object;I)V")
                    }
                    Locking::Stamp(_) => (Some(DUP2), "enterStamped", "(JLjava/lang/Object;I)V"),
                    Locking::Lock(false, false) => (None, "enterLock", "(Ljava/lang/Object;I)V"),
                    _ => (None, "enter", "(Ljava/lang/Object;I)V"),
                };
                if let Some(copy) = tells {
                    s.op(copy);
                }
                s.aload(lock);
                edit.probes.int(edit.code.pool(), &mut s, site)?;
                edit.probes.call_class(RUNTIME, edit.code.pool(), &mut s, probe, descriptor)?;
            }
            Locking::Wait(_) | Locking::Await => {
                edit.probes.call_class(RUNTIME, edit.code.pool(), &mut s, "resume", "()V")?;
            }
            Locking::Exit | Locking::Unlock(_) | Locking::Unstamp => {
                s.aload(lock);
                // The monitor of what is no lock may be held.
                let probe = if what == Locking::Unlock(false) { "exitLock" } else { "exit" };
                edit.probes.call_class(RUNTIME, edit.code.pool(), &mut s, probe, OBJECT)?;
            }
        }
        let next = instruction.end();
        // Handlers' ranges begin behind `monitorenter` and end behind `monitorexit`. Should there be no stack left for a call,
        // what was entered is protected and is unlocked, and what was unlocked is behind that and is not unlocked again.
        let monitor = matches!(what, Locking::Enter | Locking::Exit);
        let as_next = monitor && !edit.code.is_target(next);
        if what == Locking::Exit && body.retries_at(if as_next { next } else { instruction.bci }) {
            continue;
        }
        match as_next {
            true => edit.code.insert_before(next, &s)?,
            false => edit.code.insert_fall_through(next, &s)?,
        }
    }
    Ok(())
}

/// Inserts what is told when waiting has thrown something: in the handlers around it, and where it leaves the method. If nothing
/// was let go of, nothing is done there. Handlers that unlock do so also if there is no stack to tell.
fn after_exceptions(edit: &mut MethodEdit<'_, '_, '_, '_>) -> Result<(), EditError> {
    let method = edit.method();
    let body = *edit.code.code();
    let mut handlers = Vec::new();
    for instruction in body.instructions() {
        let instruction = instruction?;
        if locking(&method, &instruction).is_some_and(|what| what.waits()) {
            let covers = |start: u16, end: u16| (u32::from(start)..u32::from(end)).contains(&instruction.bci);
            handlers.extend(body.exceptions().filter(|e| covers(e.start, e.end)).map(|e| e.handler));
        }
    }
    handlers.sort_unstable();
    handlers.dedup();
    let mut s = Snippet::new();
    edit.probes.call_class(RUNTIME, edit.code.pool(), &mut s, "resume", "()V")?;
    for handler in handlers {
        edit.code.insert_guarded_at_handler(handler.into(), &s)?;
    }
    edit.code.catch_all(&s)
}
