//! Prints [`crate::layout`] as the Java class the runtime is compiled with.

use std::fmt::Write;

use crate::layout::{self, chunk, header, node, slot};
use crate::record::{self, tag};

/// Source of `quipu.runtime.Layout`.
pub fn source() -> String {
    let constants: &[(&str, u64, &str)] = &[
        ("int", layout::MAGIC.into(), "MAGIC"),
        ("int", layout::VERSION.into(), "VERSION"),
        ("long", layout::HEADER_SIZE, "HEADER_SIZE"),
        ("long", header::MAGIC, "HEADER_MAGIC"),
        ("long", header::VERSION, "HEADER_VERSION"),
        ("long", header::STATE, "HEADER_STATE"),
        ("long", header::PID, "HEADER_PID"),
        ("long", header::CREATED, "HEADER_CREATED"),
        ("long", header::ENDED, "HEADER_ENDED"),
        ("long", header::CLASSES, "HEADER_CLASSES"),
        ("long", header::METHODS, "HEADER_METHODS"),
        ("long", header::CLASSES_LEFT, "HEADER_CLASSES_LEFT"),
        ("long", header::METHODS_LEFT, "HEADER_METHODS_LEFT"),
        ("int", layout::state::RUNNING.into(), "STATE_RUNNING"),
        ("int", layout::state::ENDED.into(), "STATE_ENDED"),
        ("int", tag::CLASS.into(), "RECORD_CLASS"),
        ("int", tag::METHOD.into(), "RECORD_METHOD"),
        ("int", tag::GROUP.into(), "RECORD_GROUP"),
        ("int", tag::TREE.into(), "RECORD_TREE"),
        ("int", tag::INFO.into(), "RECORD_INFO"),
        ("int", layout::MAX_METHODS.into(), "MAX_METHODS"),
        ("long", layout::node_size(layout::MAX_SLOTS, 0), "SINK_SIZE"),
        ("int", layout::CHUNK_LOG.into(), "CHUNK_LOG"),
        ("long", header::LIMIT, "HEADER_LIMIT"),
        ("long", header::USED, "HEADER_USED"),
        ("long", header::COMMITTED, "HEADER_COMMITTED"),
        ("long", header::NEXT_TREE, "HEADER_NEXT_TREE"),
        ("long", header::REFUSED, "HEADER_REFUSED"),
        ("long", header::NEW_THREAD, "HEADER_NEW_THREAD"),
        ("long", header::EVERY, "HEADER_EVERY"),
        ("long", header::JITTER, "HEADER_JITTER"),
        ("long", header::SEED, "HEADER_SEED"),
        ("long", layout::CHUNK_ALIGN, "CHUNK_ALIGN"),
        ("int", layout::CHUNK_NODES.into(), "CHUNK_NODES"),
        ("int", layout::CHUNK_PRIVATE.into(), "CHUNK_PRIVATE"),
        ("long", chunk::KIND, "CHUNK_KIND"),
        ("long", chunk::TREE, "CHUNK_TREE"),
        ("long", chunk::SIZE, "CHUNK_SIZE"),
        ("long", chunk::USED, "CHUNK_USED"),
        ("long", chunk::HEADER, "CHUNK_HEADER"),
        ("int", layout::CHUNK_LEDGER.into(), "CHUNK_LEDGER"),
        ("long", chunk::REPLACES, "CHUNK_REPLACES"),
        ("long", layout::ledger::COUNT, "LEDGER_COUNT"),
        ("long", layout::ledger::VALUE, "LEDGER_VALUE"),
        ("long", layout::ledger::SIZE, "LEDGER_SIZE"),
        ("int", layout::ledger::EXECUTIONS.into(), "LEDGER_EXECUTIONS"),
        ("int", layout::ledger::RANGES.trailing_zeros().into(), "LEDGER_RANGES_SHIFT"),
        ("int", layout::ledger::REGION_SHIFT.into(), "LEDGER_REGION_SHIFT"),
        ("int", layout::ID_UNIT.trailing_zeros().into(), "ID_SHIFT"),
        ("int", layout::LINK_UNIT.trailing_zeros().into(), "LINK_SHIFT"),
        ("long", node::METHOD, "NODE_METHOD"),
        ("long", node::PARENT, "NODE_PARENT"),
        ("long", node::CALLS, "NODE_CALLS"),
        ("long", node::BYTECODES, "NODE_BYTECODES"),
        ("long", node::STRIDE, "NODE_STRIDE"),
        ("long", node::SITE, "NODE_SITE"),
        ("long", node::DEPTH, "NODE_DEPTH"),
        ("int", node::SLOTS, "NODE_SLOTS"),
        ("long", slot::METHOD, "SLOT_METHOD"),
        ("long", slot::NODE, "SLOT_NODE"),
        ("long", slot::CALLS, "SLOT_CALLS"),
        ("long", slot::BYTECODES, "SLOT_BYTECODES"),
        ("int", slot::SIZE, "SLOT_SIZE"),
        ("int", layout::method_word(layout::ROOT_METHOD).into(), "ROOT_WORD"),
        ("long", layout::node_size(layout::ROOT_SLOTS, 0), "ROOT_SIZE"),
        ("int", layout::ROOT_SLOTS.into(), "ROOT_SLOTS"),
        ("int", layout::HIDDEN.into(), "HIDDEN"),
        ("int", layout::root::CALLS.into(), "ROOT_CALLS"),
        ("int", layout::root::LOADING.into(), "ROOT_LOADING"),
        ("int", layout::root::HIDDEN.into(), "ROOT_HIDDEN"),
        ("long", layout::tally::MARK, "TALLY_MARK"),
        ("long", layout::tally::TREE, "TALLY_TREE"),
        ("long", layout::tally::ROOT, "TALLY_ROOT"),
        ("long", layout::stack::CHUNK, "STACK_CHUNK"),
        ("long", layout::stack::FRAMES, "STACK_FRAMES"),
        ("long", layout::stack::ENDLESS, "STACK_ENDLESS"),
        ("int", layout::MAX_SLOTS.into(), "MAX_SLOTS"),
        ("long", record::RECORD_HEADER, "RECORD_HEADER"),
        ("int", record::flag::OPAQUE.into(), "METHOD_OPAQUE"),
    ];
    let mut out = String::from(
        "package quipu.runtime;\n\n/** Where everything is in the arena. Generated from crates/arena/src/layout.rs. */\nfinal class Layout {\n",
    );
    for (kind, value, name) in constants {
        let suffix = if *kind == "long" { "L" } else { "" };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "    static final {kind} {name} = {value}{suffix};");
    }
    out.push_str("\n    private Layout() {}\n}\n");
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn constants_match_the_layout() {
        let source = super::source();
        assert!(source.contains("static final long NODE_CALLS = 8L;"), "{source}");
        assert!(source.contains("static final int ID_SHIFT = 2;"), "{source}");
    }
}
