//! When a thread calls a user's agent: a counter of bytecodes, counted down ahead of time.
//!
//! The counter is an upper bound of what was executed. It is updated where a method begins, in every loop, exception
//! handler and subroutine, each time by the cost of the longest way to the next update or to the end of the method.
//! Whether it has run out is checked in every loop, and where a method begins unless every way from there ends or
//! meets a check before it calls anything. This is the scheme of section 4.3 of Binder's paper.
//!
//! Every cycle in the code goes through the target of a jump backwards, and those are updates. So what lies between
//! updates has no cycles, its edges lead forwards, and one pass from the last block to the first finds the longest ways.

use quipu_classfile::opcode::InstructionClass;
use quipu_classfile::{
    Block, Blocks, Code, CodeEditor, ConstantPool, EditError, FlowKind, Snippet, VerificationType,
};

use crate::call::{call_of, is_object_constructor};
use crate::probes::Probes;
use crate::retried::{is_loop, is_retried};

/// A place where the counter is updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Update {
    /// The block it stands at the beginning of.
    pub bci: u32,
    /// What is taken off.
    pub cost: u32,
    /// Whether the agent's turn is checked here.
    pub checks: bool,
    /// Whether what is thrown here leads back here.
    pub retried: bool,
}

/// The updates of a method, in code order. `blocks` are those of the default analysis.
pub fn updates(
    blocks: &Blocks,
    code: &Code<'_>,
    pool: &ConstantPool<'_>,
    cost: impl Fn(&Block) -> u32,
) -> Vec<Update> {
    let flow: Vec<Vec<(usize, FlowKind)>> = (0..blocks.len())
        .map(|index| blocks.successors(index, code).iter().map(|flow| (flow.to, flow.kind)).collect())
        .collect();
    let mut updated: Vec<bool> =
        blocks.iter().map(|block| block.is_loop_header || block.is_handler).collect();
    if let Some(first) = updated.first_mut() {
        *first = true;
    }
    for target in subroutines(blocks, code) {
        if let Some(flag) = updated.get_mut(target) {
            *flag = true;
        }
    }
    let mut longest = vec![0u32; blocks.len()];
    for (index, block) in blocks.iter().enumerate().rev() {
        let next = flow.get(index).into_iter().flatten().filter(|(_, kind)| *kind != FlowKind::Exception);
        let beyond = next.filter_map(|&(to, _)| match updated.get(to) {
            Some(false) => longest.get(to).copied(),
            _ => Some(0),
        });
        let whole = cost(&block).saturating_add(beyond.max().unwrap_or(0));
        if let Some(entry) = longest.get_mut(index) {
            *entry = whole;
        }
    }
    let entry_checks = calls_unchecked(blocks, code, pool, &flow);
    let all = blocks.iter().zip(updated).zip(longest).enumerate();
    all.filter(|(_, ((_, updated), _))| *updated)
        .map(|(index, ((block, _), cost))| Update {
            bci: block.start,
            cost,
            checks: is_loop(code, &block) || (index == 0 && entry_checks),
            retried: is_retried(code, &block),
        })
        .collect()
}

/// Blocks where subroutines begin.
fn subroutines(blocks: &Blocks, code: &Code<'_>) -> Vec<usize> {
    let jumps = code.instructions().map_while(Result::ok).filter(|i| i.info().class == InstructionClass::Jsr);
    jumps.filter_map(|jsr| jsr.branch_target()).filter_map(|bci| blocks.containing(bci)).collect()
}

/// Whether some way from the method's beginning calls something before it comes to a loop.
fn calls_unchecked(
    blocks: &Blocks,
    code: &Code<'_>,
    pool: &ConstantPool<'_>,
    flow: &[Vec<(usize, FlowKind)>],
) -> bool {
    let mut seen = vec![false; blocks.len()];
    let mut pending = vec![0];
    while let Some(index) = pending.pop() {
        let Some(block) = blocks.get(index).filter(|block| !block.is_loop_header) else {
            continue;
        };
        match seen.get_mut(index) {
            Some(seen) if !*seen => *seen = true,
            _ => continue,
        }
        let calls = block.iter(code).map_while(Result::ok).any(|i| {
            i.info().class == InstructionClass::Invoke
                && !call_of(&i, pool).is_some_and(|call| is_object_constructor(&call))
        });
        if calls {
            return true;
        }
        pending.extend(flow.get(index).into_iter().flatten().map(|&(to, _)| to));
    }
    false
}

/// Where a method keeps what the inserted code needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Nothing is kept: a leaf without loops, which checks nothing.
    Nothing,
    /// Cursor and node; what was executed follows from the calls.
    Node {
        /// The cursor's local variable.
        cursor: u16,
        /// The node's.
        node: u16,
    },
    /// Also what was executed and is not in memory yet.
    Count {
        /// The cursor's local variable.
        cursor: u16,
        /// The node's.
        node: u16,
        /// Where it is to be added.
        home: u16,
        /// What was counted.
        count: u16,
    },
}

/// Inserts the updates. Counters of the same blocks must be inserted before, so that the agent sees them.
pub fn insert(
    code: &mut CodeEditor<'_, '_, '_>,
    probes: &Probes,
    updates: &[Update],
    kept: Kept,
    may_check: bool,
) -> Result<(), EditError> {
    let mut s = Snippet::new();
    for update in updates {
        s.clear();
        let (name, descriptor) = match (kept, update.checks && may_check) {
            (Kept::Nothing, _) => ("spend", "(I)V"),
            (Kept::Node { cursor, .. } | Kept::Count { cursor, .. }, false) => {
                s.aload(cursor);
                ("spend", "(@I)V")
            }
            (Kept::Node { cursor, node }, true) => {
                s.aload(cursor).lload(node);
                ("check", "(@JI)V")
            }
            (Kept::Count { cursor, node, home, count }, true) => {
                s.aload(cursor).lload(node).lload(home).iload(count);
                ("check", "(@JJII)I")
            }
        };
        probes.int(code.pool(), &mut s, update.cost)?;
        probes.activation(code.pool(), &mut s, name, descriptor)?;
        if let (Kept::Count { count, .. }, true) = (kept, update.checks && may_check) {
            s.istore(count);
        }
        if update.retried {
            code.insert_guarded_at_handler(update.bci, &s)?;
        } else {
            code.insert_before(update.bci, &s)?;
        }
    }
    Ok(())
}

/// How a method keeps the agent away while it runs: a field of the cursor is set, and put back as it was, so that
/// nothing is wrong for long should an exception slip past one of the exits.
#[derive(Debug, Clone, Copy)]
pub struct Guard {
    enter: &'static str,
    leave: &'static str,
    /// Has what the field was before.
    local: u16,
}

impl Guard {
    /// The agent's turn comes when the method is left.
    pub fn hold(code: &mut CodeEditor<'_, '_, '_>) -> Result<Guard, EditError> {
        let local = code.new_local(VerificationType::Int)?;
        Ok(Guard { enter: "hold", leave: "release", local })
    }

    /// What the method and its callees execute depends on the JIT and is not counted down.
    pub fn pause(code: &mut CodeEditor<'_, '_, '_>) -> Result<Guard, EditError> {
        let local = code.new_local(VerificationType::Int)?;
        Ok(Guard { enter: "pause", leave: "resume", local })
    }

    /// Appends what goes to the entry.
    pub fn enter(
        self,
        code: &mut CodeEditor<'_, '_, '_>,
        probes: &Probes,
        s: &mut Snippet,
        cursor: u16,
    ) -> Result<(), EditError> {
        s.aload(cursor);
        probes.activation(code.pool(), s, self.enter, "(@)I")?;
        s.istore(self.local);
        Ok(())
    }

    /// Appends what goes to the exits.
    pub fn leave(
        self,
        code: &mut CodeEditor<'_, '_, '_>,
        probes: &Probes,
        s: &mut Snippet,
        cursor: u16,
    ) -> Result<(), EditError> {
        s.aload(cursor).iload(self.local);
        probes.activation(code.pool(), s, self.leave, "(@I)V")
    }
}

/// Code in the middle of which no agent is called, with all it calls: it holds state of the thread, or of everybody,
/// that the agent may well use too and would find half changed. The agent's turn comes when it is left.
const DELICATE: &[&str] = &[
    // What a thread knows of itself.
    "java/lang/Thread",
    "java/lang/ThreadGroup",
    "java/lang/ThreadLocal",
    "java/lang/InheritableThreadLocal",
    "jdk/internal/misc/TerminatingThreadLocal",
    // A virtual thread calls some of it between its two identities, when it cannot be stopped.
    "java/lang/System",
    // An agent that waits for a lock would use up the wake-up that somebody is about to wait for.
    "java/util/concurrent/locks/",
    // Standard output and error.
    "java/io/PrintStream",
    "java/io/BufferedOutputStream",
    "java/io/BufferedWriter",
    "java/io/OutputStreamWriter",
    "java/io/FileOutputStream",
    "sun/nio/cs/StreamEncoder",
    // Loading of classes, which the agent does too when it runs first.
    "java/lang/ClassLoader",
    "java/net/URLClassLoader",
    "java/security/SecureClassLoader",
    "jdk/internal/loader/",
    "java/util/zip/",
    "java/util/jar/",
    // What the collector's helpers do.
    "java/lang/ref/",
];

/// A `Thread` runs the whole program, which is not delicate.
const NOT_DELICATE: [(&[u8], &[u8]); 2] = [(b"java/lang/Thread", b"run"), (b"java/lang/Thread", b"runWith")];

/// Whether no agent may be called in a method.
pub fn is_delicate(class: &[u8], method: &[u8]) -> bool {
    let listed = DELICATE.iter().any(|prefix| {
        class
            .strip_prefix(prefix.as_bytes())
            .is_some_and(|rest| prefix.ends_with('/') || matches!(rest.first(), None | Some(b'$')))
    });
    listed && !NOT_DELICATE.contains(&(class, method))
}

#[cfg(test)]
#[path = "activation_tests.rs"]
mod tests;
