//! Handlers that cover themselves, as those of `synchronized` blocks do: whatever is thrown where they begin brings them about
//! once more, until they have unlocked. A probe there that finds no stack left would be called for ever, for each time it
//! finds as much stack as the time before.

use quipu_classfile::{Block, Code, CodeEditor, EditError, Snippet};

/// Whether an exception that is thrown where the block begins leads back there.
pub(crate) fn is_retried(code: &Code<'_>, block: &Block) -> bool {
    block.is_handler && code.retries_at(block.start)
}

/// Whether a block is run through again and again, so that what it has counted must be put aside now and then. Not if nothing but
/// an exception leads back to it.
pub(crate) fn is_loop(code: &Code<'_>, block: &Block) -> bool {
    block.is_loop_header && !is_retried(code, block)
}

/// Inserts a snippet that may throw where a block begins.
pub(crate) fn insert_before_block(
    code: &mut CodeEditor<'_, '_, '_>,
    block: &Block,
    snippet: &Snippet,
) -> Result<(), EditError> {
    if is_retried(code.code(), block) {
        code.insert_guarded_at_handler(block.start, snippet)
    } else {
        code.insert_before(block.start, snippet)
    }
}
