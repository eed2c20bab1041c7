//! What is found out about a method before anything is inserted: how it counts, and what follows from its calls.

use quipu_classfile::{BlockAnalysis, Blocks, CodeEditor, Method};

use super::calls::Calls;
use super::counters::Counters;
use super::{Contexts, Settings};
use crate::leaf::{is_leaf, safe_prefix};

/// How a method counts what it executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counter {
    /// Not at all: it follows from the number of calls.
    Calls,
    /// Each block but the first adds to memory. The first follows from the number of calls.
    Memory,
    /// In a local variable, which is added to memory before calls and on exit: for loops, and where blocks are many.
    Local,
}

/// What is known of a method before anything is inserted.
pub(crate) struct Analysis {
    pub leaf: bool,
    pub counter: Counter,
    /// Bytecodes that follow from each call.
    pub per_call: u32,
    /// The blocks that are counted.
    pub blocks: Blocks,
    /// Those of the default analysis.
    pub one_way: Blocks,
    pub counters: Counters,
    pub calls: Calls,
}

impl Analysis {
    pub fn of(
        code: &CodeEditor<'_, '_, '_>,
        method: &Method<'_, '_>,
        Settings { exact, plan, known }: Settings<'_>,
        loading: bool,
    ) -> Analysis {
        let body = *code.code();
        let one_way = code.blocks(BlockAnalysis::Default);
        // An agent's turn may come in a loop, and the agent must be shown what was counted.
        let agent_in_loop = plan.activation && one_way.has_loops();
        let leaf = !loading && !exact.blocks && !agent_in_loop && is_leaf(method, &body);
        let first = one_way.iter().next().filter(|block| !block.is_loop_header);
        // What lies in the first block, and not in a loop, is executed once by every call.
        let prefix = first.map_or(0, |block| safe_prefix(method, &body).min(block.end));
        let mut calls =
            Calls::find(&body, method.class().pool(), exact.sites, prefix, !plan.activation, known);
        if exact.contexts == Contexts::Application {
            calls.leave_every_second_slot();
        }
        // That a block is counted at its start is what the default analysis means. Where it matters how far a block got,
        // the same holds only if nothing can stop it halfway: no exception, and no callee that ends the process.
        let whole_blocks = leaf || plan.analysis == BlockAnalysis::Default;
        let blocks = if whole_blocks { one_way.clone() } else { code.blocks(plan.analysis) };
        let (counter, per_call) = if !whole_blocks {
            (Counter::Local, 0)
        } else if one_way.is_straight_line() {
            (Counter::Calls, one_way.iter().map(|block| plan.cost(&block, &body)).sum())
        } else {
            let counter = if one_way.has_loops() { Counter::Local } else { Counter::Memory };
            (counter, first.map_or(0, |block| plan.cost(&block, &body)))
        };
        let counters = Counters::new(exact, &blocks, &body);
        Analysis { leaf, counter, per_call, blocks, one_way, counters, calls }
    }
}
