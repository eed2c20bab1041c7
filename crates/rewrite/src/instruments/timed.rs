//! Times of the methods below a root, after Dmitriev's JFluid.
//!
//! | method | entry | calls | exits |
//! |---|---|---|---|
//! | a root | enters itself below its caller, or begins a tree; notes when | publish a slot | put the caller's slot back, look at the clock, count the execution among those that took as long |
//! | what a root reaches | nothing, if the thread is in no root; else the same | the same | the same |
//! | any of these, if times are sampled | the same without the clock, but in roots | the same | the same |
//! | what is tiny | counts the call, if the thread is in a root | – | – |
//! | what loads or links classes | leaves the root | – | returns to it |
//!
//! Nothing is published where the thread is in no root, which is all that a method then has to find out.
//!
//! A tiny method calls nothing and runs straight through to its end: the clock takes longer than it does, and the JIT makes it
//! part of its caller. So does the profile: its calls are its own, its time is the caller's.

use quipu_classfile::opcode::{GOTO, GOTO_W, InstructionClass};
use quipu_classfile::{
    BlockAnalysis, ClassFile, Code, CodeEditor, EditError, Method, Snippet, VerificationType, access,
};

use super::exact::{Calls, Site};
use crate::agreed::MOST_SLOTS;
use crate::instrument::{Inserter, Instrument, MethodEdit};
use crate::rewritten::lines;
use crate::{Clock, Known, LONGEST_COMPILED, Plan, Region, Shape, Timing, Treatment};

/// The runtime's class that takes the times.
const RUNTIME: &str = "Timer";
/// What the JIT puts into its callers whoever they are (`MaxInlineSize`); such a method without calls and loops is tiny.
const TINY: usize = 35;

/// What calls methods that code does not name.
const REFLECTS: [(&[u8], &[u8]); 3] = [
    (b"java/lang/reflect/Method", b"invoke"),
    (b"java/lang/reflect/Constructor", b"newInstance"),
    // Where there is one, `Class.newInstance` calls it, and `Constructor.newInstance` too.
    (b"java/lang/reflect/Constructor", b"newInstanceWithCaller"),
];

/// Whether a method tells what it is about to call.
fn reflects(method: &Method<'_, '_>) -> bool {
    let [.., inner] = REFLECTS;
    let calls_inner =
        || method.name() == b"newInstance" && method.class().methods().any(|other| other.name() == inner.1);
    REFLECTS.contains(&(method.class().name(), method.name())) && !calls_inner()
}

/// The instrument.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timed {
    /// Whether no clock is looked at but in roots: where threads are is sampled.
    pub sampled: bool,
}

impl Timed {
    /// How it is called.
    pub const NAME: &'static str = "root";
}

impl Instrument for Timed {
    fn name(&self) -> &'static str {
        Timed::NAME
    }

    fn inserter<'p>(
        &'p self,
        _: &ClassFile<'_>,
        _: &'p Plan,
        known: &'p dyn Known,
    ) -> Box<dyn Inserter + 'p> {
        Box::new(TimedInserter { known, sampled: self.sampled, method: None })
    }
}

struct TimedInserter<'p> {
    known: &'p dyn Known,
    sampled: bool,
    method: Option<Begun>,
}

/// The local variables of a method, between its two turns.
#[derive(Clone)]
enum Begun {
    /// It has a context.
    Timed {
        cursor: u16,
        /// What was published when it was entered.
        before: u16,
        /// Where time went when it was entered, if clocks tell it.
        outer: Option<u16>,
        /// Where its own goes; 0 if the thread is in no root.
        slot: u16,
        /// Its node.
        node: u16,
        /// Of a root when it was entered.
        entered: Option<u16>,
        /// Parts of it: their numbers, and since when the thread is in them.
        regions: Vec<(u32, u16)>,
    },
    /// It leaves the root.
    Aside { cursor: u16, before: u16 },
    /// It only counts its calls.
    Tiny,
}

/// Whether the clock would take longer than the method.
fn is_tiny(method: &Method<'_, '_>, code: &Code<'_>, straight: bool) -> bool {
    let quick = |class| {
        !matches!(
            class,
            InstructionClass::Invoke
                | InstructionClass::Allocation
                | InstructionClass::Monitor
                | InstructionClass::Throw
                | InstructionClass::Jsr
        )
    };
    straight
        && code.bytes.len() <= TINY
        && !method.is(access::SYNCHRONIZED)
        && code.instructions().map_while(Result::ok).all(|instruction| quick(instruction.info().class))
}

impl Inserter for TimedInserter<'_> {
    fn before(&mut self, edit: &mut MethodEdit<'_, '_, '_, '_>) -> Result<(), EditError> {
        self.method = None;
        let method = edit.method();
        let body = *edit.code.code();
        // Code that was compiled must not become code that never is.
        if body.bytes.len() <= LONGEST_COMPILED as usize {
            edit.code.set_size_limit(LONGEST_COMPILED);
        }
        let timing = match edit.treatment {
            Treatment::Count => self.known.timing(&method, edit.id),
            // The JVM calls it wherever it comes to a new class, or a call site that is not linked.
            Treatment::CountLoading | Treatment::Loading => return self.leave_root(edit),
            Treatment::Opaque | Treatment::Leave(_) => None,
        };
        let Some(timing) = timing else { return Ok(()) };
        let straight = edit.code.blocks(BlockAnalysis::Default).is_straight_line();
        if timing == Timing::Below && is_tiny(&method, &body, straight) {
            let mut s = Snippet::new();
            edit.probes.word(edit.code.pool(), &mut s, edit.id)?;
            edit.probes.call_class(RUNTIME, edit.code.pool(), &mut s, "count", "(I)V")?;
            self.method = Some(Begun::Tiny);
            edit.shape = Some(shape(edit, 0, true));
            return edit.code.insert_entry(&s);
        }
        self.enter(edit, timing)
    }

    fn after(&mut self, edit: &mut MethodEdit<'_, '_, '_, '_>) -> Result<(), EditError> {
        let (probes, code) = (edit.probes, &mut edit.code);
        let mut s = Snippet::new();
        match self.method.take() {
            None | Some(Begun::Tiny) => return Ok(()),
            Some(Begun::Timed { cursor, before, outer, slot, node, entered, regions }) => {
                publish(code, probes, &mut s, cursor, before)?;
                for (number, since) in regions {
                    leave_region(code, probes, &mut s, (cursor, node, since), number)?;
                }
                let left = match (outer, entered) {
                    (Some(_), Some(_)) => Some(("leaveRoot", "(@JJJJ)V")),
                    (None, Some(_)) => Some(("leaveRoot", "(@JJJ)V")),
                    (Some(_), None) => Some(("leave", "(@JJ)V")),
                    // What is published is all there is to it.
                    (None, None) => None,
                };
                if let Some((name, descriptor)) = left {
                    s.aload(cursor).lload(slot);
                    for local in
                        outer.into_iter().chain(entered.into_iter().flat_map(|entered| [node, entered]))
                    {
                        s.lload(local);
                    }
                    let descriptor = probes.with_cursor(descriptor);
                    probes.call_class(RUNTIME, code.pool(), &mut s, name, &descriptor)?;
                }
            }
            Some(Begun::Aside { cursor, before }) => {
                publish(code, probes, &mut s, cursor, before)?;
                s.aload(cursor).lload(before);
                let descriptor = probes.with_cursor("(@J)V");
                probes.call_class(RUNTIME, code.pool(), &mut s, "back", &descriptor)?;
            }
        }
        code.insert_before_returns(&s)?;
        code.catch_all(&s)
    }
}

impl TimedInserter<'_> {
    fn enter(&mut self, edit: &mut MethodEdit<'_, '_, '_, '_>, timing: Timing) -> Result<(), EditError> {
        let (probes, method, body) = (edit.probes, edit.method(), *edit.code.code());
        let calls = Calls::find(&body, method.class().pool(), false, 0, false, self.known);
        if calls.slots > MOST_SLOTS {
            return Err(EditError::TooLarge { size: body.bytes.len() as u32 });
        }
        let published = |site: &Site| match *site {
            Site::Publish { bci, slot } | Site::Possible { bci, slot, .. } => Some((bci, slot)),
            Site::Opaque { .. } => None,
        };
        let mut s = Snippet::new();
        let cursor = find_cursor(edit, &mut s)?;
        let code = &mut edit.code;
        let [before, slot, node] = [
            code.new_local(VerificationType::Long)?,
            code.new_local(VerificationType::Long)?,
            code.new_local(VerificationType::Long)?,
        ];
        let outer = if self.sampled { None } else { Some(code.new_local(VerificationType::Long)?) };
        let call = |code: &mut CodeEditor<'_, '_, '_>, s: &mut Snippet, name: &str, descriptor: &str| {
            probes.call_class(RUNTIME, code.pool(), s, name, &probes.with_cursor(descriptor))
        };
        if reflects(&method) {
            s.aload(0);
            call(code, &mut s, "reflected", "(Ljava/lang/Object;)V")?;
        }
        s.aload(cursor);
        call(code, &mut s, "published", "(@)J")?;
        s.lstore(before).aload(cursor);
        if let Some(outer) = outer {
            call(code, &mut s, "running", "(@)J")?;
            s.lstore(outer).aload(cursor);
        }
        probes.word(code.pool(), &mut s, edit.id)?;
        let enter = match (timing, self.sampled) {
            (Timing::Root, false) => "enterRoot",
            (Timing::Root, true) => "passRoot",
            (Timing::Below, false) => "enter",
            (Timing::Below, true) => "pass",
        };
        call(code, &mut s, enter, "(@I)J")?;
        s.lstore(slot).aload(cursor).lload(slot);
        call(code, &mut s, "open", "(@J)J")?;
        s.lstore(node);
        let mut entered = None;
        if timing == Timing::Root {
            let local = code.new_local(VerificationType::Long)?;
            s.aload(cursor).lload(slot);
            call(code, &mut s, if self.sampled { "enteredNow" } else { "entered" }, "(@J)J")?;
            s.lstore(local);
            entered = Some(local);
        }
        let regions = self.known.regions(&method);
        let mut since = Vec::new();
        for region in &regions {
            let local = code.new_local(VerificationType::Long)?;
            s.long16(0).lstore(local);
            since.push((region.number, local));
        }
        code.insert_entry(&s)?;
        for (region, &(_, since)) in regions.iter().zip(&since) {
            time_region(code, probes, &rows(&method, &body), region, (cursor, node, since))?;
        }
        for (bci, number) in calls.sites.iter().filter_map(published) {
            s.clear().aload(cursor).lload(node);
            probes.int(code.pool(), &mut s, number)?;
            call(code, &mut s, "at", "(@JI)V")?;
            code.insert_before(bci, &s)?;
        }
        self.method = Some(Begun::Timed { cursor, before, outer, slot, node, entered, regions: since });
        edit.shape = Some(shape(edit, calls.slots, false));
        Ok(())
    }

    /// What the method does is not the program's.
    fn leave_root(&mut self, edit: &mut MethodEdit<'_, '_, '_, '_>) -> Result<(), EditError> {
        let mut s = Snippet::new();
        let cursor = find_cursor(edit, &mut s)?;
        let before = edit.code.new_local(VerificationType::Long)?;
        s.aload(cursor);
        let descriptor = edit.probes.with_cursor("(@)J");
        edit.probes.call_class(RUNTIME, edit.code.pool(), &mut s, "aside", &descriptor)?;
        s.lstore(before);
        self.method = Some(Begun::Aside { cursor, before });
        edit.code.insert_entry(&s)
    }
}

/// Where lines begin, in order. The jump of a `continue`, or of what else leaves its line behind a `finally`, is no coming back.
fn rows(method: &Method<'_, '_>, body: &Code<'_>) -> Vec<(u32, u16)> {
    let lines = lines(method, body, true);
    let all = lines.chunks_exact(2).filter_map(|row| Some((u32::from(*row.first()?), *row.get(1)?)));
    let is_jump = |bci: u32| matches!(body.bytes.get(bci as usize), Some(&(GOTO | GOTO_W)));
    let mut rows: Vec<(u32, u16)> = all.filter(|&(bci, _)| !is_jump(bci)).collect();
    rows.sort_unstable();
    rows
}

/// Has a part of a method timed: wherever control may come to its lines, and wherever it may come from them to others.
fn time_region(
    code: &mut CodeEditor<'_, '_, '_>,
    probes: &crate::Probes,
    rows: &[(u32, u16)],
    region: &Region,
    locals: (u16, u16, u16),
) -> Result<(), EditError> {
    // Where rows begin, and blocks, which may be come to from anywhere.
    let mut points: Vec<u32> = rows.iter().map(|&(bci, _)| bci).collect();
    points.extend(code.blocks(BlockAnalysis::Default).iter().map(|block| block.start));
    points.sort_unstable();
    points.dedup();
    let (cursor, node, since) = locals;
    for bci in points {
        let row = rows.partition_point(|&(from, _)| from <= bci).checked_sub(1).and_then(|at| rows.get(at));
        let is_within = row.is_some_and(|&(_, line)| (region.lines.0..=region.lines.1).contains(&line));
        let mut s = Snippet::new();
        if is_within {
            s.aload(cursor).lload(node).lload(since);
            let descriptor = probes.with_cursor("(@JJ)J");
            probes.call_class(RUNTIME, code.pool(), &mut s, "within", &descriptor)?;
            s.lstore(since);
        } else {
            leave_region(code, probes, &mut s, locals, region.number)?;
        }
        code.insert_before(bci, &s)?;
    }
    Ok(())
}

/// The thread is not in a part of its method.
fn leave_region(
    code: &mut CodeEditor<'_, '_, '_>,
    probes: &crate::Probes,
    s: &mut Snippet,
    (cursor, node, since): (u16, u16, u16),
    number: u32,
) -> Result<(), EditError> {
    s.aload(cursor).lload(node).lload(since);
    probes.int(code.pool(), s, number)?;
    let descriptor = probes.with_cursor("(@JJI)J");
    probes.call_class(RUNTIME, code.pool(), s, "outside", &descriptor)?;
    s.lstore(since);
    Ok(())
}

fn find_cursor(edit: &mut MethodEdit<'_, '_, '_, '_>, s: &mut Snippet) -> Result<u16, EditError> {
    let class = edit.probes.cursor_class(edit.code.pool())?;
    let cursor = edit.code.new_local(VerificationType::Object(class))?;
    edit.probes.find_cursor(edit.code.pool(), s)?;
    s.astore(cursor);
    Ok(cursor)
}

/// Appends a store of what is published. No call, so that it is done where there is no stack left for one: a thread must never
/// stay in a root that it has left.
fn publish(
    code: &mut CodeEditor<'_, '_, '_>,
    probes: &crate::Probes,
    s: &mut Snippet,
    cursor: u16,
    value: u16,
) -> Result<(), EditError> {
    let field = probes.cursor_field(code.pool(), b"below")?;
    s.aload(cursor).lload(value).putfield(field, b"J");
    Ok(())
}

fn shape(edit: &MethodEdit<'_, '_, '_, '_>, slots: u32, tiny: bool) -> Shape {
    let method = edit.method();
    Shape {
        id: edit.id,
        index: method.index(),
        slots,
        lines: lines(&method, edit.code.code(), false),
        timed: Some(if tiny { Clock::Callers } else { Clock::Own }),
        ..Shape::default()
    }
}
