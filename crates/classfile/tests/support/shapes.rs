//! The edits that corpus tests, fuzzing and the benchmark apply to whole libraries.

use std::borrow::Cow;

use quipu_classfile::{
    BlockAnalysis, Blocks, ClassEditor, ClassFile, Edge, EditError, Scratch, Snippet, VerificationType,
    opcode,
};

/// What to insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A counter in a new int local, bumped in every block.
    Counter,
    /// The same with the precise analysis and three kinds of locals, added up on every way out of the method.
    Full,
    /// A snippet on every edge: fall-through, branch, switch case and handler.
    Edges,
}

/// Reused from class to class.
#[derive(Default)]
pub struct Rewriter {
    scratch: Scratch,
    blocks: Blocks,
    snippet: Snippet,
    /// Methods edited.
    pub edited: u64,
    /// Methods left alone, with the reason.
    pub refused: Vec<(String, EditError)>,
}

impl Rewriter {
    /// Applies a shape to every method of a class.
    pub fn rewrite<'a>(&mut self, class: &ClassFile<'a>, shape: Shape) -> Cow<'a, [u8]> {
        let mut editor = ClassEditor::with_scratch(class, std::mem::take(&mut self.scratch));
        for method in class.methods() {
            match self.method(&mut editor, method.index(), shape) {
                Ok(edited) => self.edited += u64::from(edited),
                Err(reason) => {
                    let name = [class.name(), b".", method.name(), method.descriptor()].concat();
                    self.refused.push((String::from_utf8_lossy(&name).into_owned(), reason));
                }
            }
        }
        let (bytes, scratch) = editor.finish();
        self.scratch = scratch;
        bytes
    }

    /// Takes the memory of a rewritten class for the next.
    pub fn take_back(&mut self, class: Cow<'_, [u8]>) {
        if let Cow::Owned(bytes) = class {
            self.scratch.take_back(bytes);
        }
    }

    fn method(
        &mut self,
        editor: &mut ClassEditor<'_, '_>,
        index: usize,
        shape: Shape,
    ) -> Result<bool, EditError> {
        let s = &mut self.snippet;
        let Some(mut code) = editor.edit_method(index)? else { return Ok(false) };
        let counter = code.new_local(VerificationType::Int)?;
        code.insert_entry(s.clear().int16(0).istore(counter))?;
        match shape {
            Shape::Counter => {
                code.blocks_into(BlockAnalysis::Default, &mut self.blocks);
                code.insert_iincs(counter, self.blocks.iter().map(|b| (b.start, b.instructions as i32)))?;
            }
            Shape::Full => {
                let node = code.new_local(VerificationType::Long)?;
                let thread_class = code.pool().class(b"java/lang/Thread")?;
                let thread = code.new_local(VerificationType::Object(thread_class))?;
                // No calls: this also goes into what runs before the VM can make any.
                s.clear()
                    .ldc2(code.pool().long(1 << 40)?)
                    .lstore(node)
                    .op(opcode::ACONST_NULL)
                    .astore(thread);
                code.insert_entry(s)?;
                code.blocks_into(BlockAnalysis::Precise, &mut self.blocks);
                code.reserve(self.blocks.len());
                for block in self.blocks.iter() {
                    code.insert_before(block.start, s.clear().iinc(counter, block.instructions as i32))?;
                }
                s.clear().lload(node).iload(counter).op(opcode::I2L).op(opcode::LADD).lstore(node);
                s.aload(thread).op(opcode::POP);
                code.insert_before_returns(s)?;
                code.catch_all(s)?;
            }
            Shape::Edges => {
                s.clear().iinc(counter, 1);
                for instruction in code.code().instructions() {
                    let i = instruction?;
                    if i.branch_target().is_some() {
                        code.insert_on_edge(Edge::Branch(i.bci), s)?;
                    }
                    if let Some(switch) = i.switch() {
                        for case in 0..switch.len() {
                            code.insert_on_edge(Edge::Case(i.bci, case as u32), s)?;
                        }
                        code.insert_on_edge(Edge::Default(i.bci), s)?;
                    }
                    code.insert_fall_through(i.bci, s)?;
                }
                let mut handlers: Vec<u16> = code.code().exceptions().map(|e| e.handler).collect();
                handlers.sort_unstable();
                handlers.dedup();
                for (i, handler) in handlers.into_iter().enumerate() {
                    match i % 2 {
                        0 => code.insert_guarded_at_handler(handler.into(), s)?,
                        _ => code.insert_at_handler(handler.into(), s)?,
                    }
                }
                code.catch_all(s.clear())?;
            }
        }
        code.finish()?;
        Ok(true)
    }
}
