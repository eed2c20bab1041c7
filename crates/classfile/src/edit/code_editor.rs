//! Editing one method's code.

use super::emit;
use super::frame_table;
use super::layout::{EdgeInsertion, EdgeKey, Insertion, Rank, Span};
use super::output::Growth;
use super::this;
use super::{ClassEditor, PoolEditor, Snippet};
use crate::blocks::{BlockAnalysis, Blocks};
use crate::class::{Attribute, Method};
use crate::code::Code;
use crate::error::EditError;
use crate::instruction::Instruction;
use crate::opcode::{self, InstructionClass};
use crate::types::{self, VType};

/// Type of a new local variable, as the verifier sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerificationType {
    /// `boolean` to `int`.
    Int,
    /// `float`.
    Float,
    /// `long`; two slots.
    Long,
    /// `double`; two slots.
    Double,
    /// A reference; pool index of its class.
    Object(u16),
}

/// A way from one instruction to another that is not the fall-through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The branch, `goto` or `jsr` at this position, taken.
    Branch(u32),
    /// A case of the switch at this position, counted from 0.
    Case(u32, u32),
    /// The default of the switch at this position.
    Default(u32),
}

/// What a finished edit did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edited {
    /// Code length before.
    pub old_size: u32,
    /// Code length after.
    pub new_size: u32,
}

/// A handler for everything thrown in the method and not caught by it: its code, up to the `athrow` that ends it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CatchAll {
    pub(crate) snippet: Span,
    growth: u32,
    /// New positions of the copy for initialised and of the one for uninitialised `this`.
    handlers: [Option<u32>; 2],
}

impl CatchAll {
    /// Handlers to write.
    pub(crate) fn copies(&self) -> usize {
        self.handlers.iter().flatten().count()
    }

    /// Position of the handler for a kind of region.
    pub(crate) fn position(&self, uninitialized: bool) -> u32 {
        self.handlers.get(usize::from(uninitialized)).copied().flatten().unwrap_or(0)
    }

    /// Positions in code order, and whether `this` is uninitialised there.
    pub(crate) fn positions(&self) -> impl Iterator<Item = (u32, bool)> + '_ {
        self.handlers.iter().zip([false, true]).filter_map(|(p, uninitialized)| Some(((*p)?, uninitialized)))
    }
}

/// Collects insertions into a method and writes it when finished. Positions are always those of the old code.
#[derive(Debug)]
pub struct CodeEditor<'e, 'c, 'a> {
    pub(crate) class: &'e mut ClassEditor<'c, 'a>,
    pub(crate) method: Method<'c, 'a>,
    entry_growth: u32,
    growth: u32,
    catch_all: Option<CatchAll>,
    limit: u32,
}

impl<'e, 'c, 'a> CodeEditor<'e, 'c, 'a> {
    // Inlined: to hand over what is read here would take as long as reading it.
    #[inline(always)]
    pub(crate) fn open(
        class: &'e mut ClassEditor<'c, 'a>,
        method: Method<'c, 'a>,
        attribute: Attribute<'a>,
    ) -> Result<Self, EditError> {
        class.attribute = attribute;
        class.code = Code::parse(attribute.data, attribute.offset + 6)?;
        class.scratch.scan.run(&class.code)?;
        class.scratch.layout.clear();
        class.scratch.new_locals.clear();
        let (entry_growth, growth, catch_all, limit) = (0, 0, None, u32::MAX);
        Ok(CodeEditor { class, method, entry_growth, growth, catch_all, limit })
    }

    /// The method as it was.
    pub fn method(&self) -> Method<'c, 'a> {
        self.method
    }

    /// Its code as it was.
    pub fn code(&self) -> &Code<'a> {
        &self.class.code
    }

    /// The growing constant pool.
    pub fn pool(&mut self) -> &mut PoolEditor<'c, 'a> {
        &mut self.class.pool
    }

    /// Its basic blocks.
    pub fn blocks(&self, analysis: BlockAnalysis) -> Blocks {
        let mut blocks = Blocks::default();
        self.blocks_into(analysis, &mut blocks);
        blocks
    }

    /// Its basic blocks, reusing memory.
    pub fn blocks_into(&self, analysis: BlockAnalysis, blocks: &mut Blocks) {
        blocks.fill(&self.class.scratch.scan, &self.class.code, self.class.class.pool(), analysis);
    }

    /// Refuse the edit if the code gets longer than this (HotSpot compiles no method over 8,000 bytes).
    pub fn set_size_limit(&mut self, bytes: u32) {
        self.limit = bytes;
    }

    /// A new local variable. The entry snippets must assign it: every stack map frame will declare it.
    pub fn new_local(&mut self, t: VerificationType) -> Result<u16, EditError> {
        let new_locals = &mut self.class.scratch.new_locals;
        let slot = usize::from(self.class.code.max_locals) + new_locals.slots();
        let t = match t {
            VerificationType::Int => VType::plain(types::INTEGER),
            VerificationType::Float => VType::plain(types::FLOAT),
            VerificationType::Long => VType::plain(types::LONG),
            VerificationType::Double => VType::plain(types::DOUBLE),
            VerificationType::Object(class) => VType::new(types::OBJECT, class.into()),
        };
        if slot + t.slots() > 65_535 {
            return Err(EditError::TooManyLocals);
        }
        new_locals.push(t);
        u16::try_from(slot).map_err(|_| EditError::TooManyLocals)
    }

    /// Makes room for this many more insertions. Without, the memory for them grows as they come, and is needed twice when
    /// it does.
    pub fn reserve(&mut self, insertions: usize) {
        let scratch = &mut self.class.scratch;
        // There may be something else before returns.
        let needed = insertions + scratch.scan.returns.len() + 1;
        scratch.layout.insertions.reserve_exact(needed);
    }

    fn keep(&mut self, snippet: &Snippet) -> Result<Span, EditError> {
        if let Some(what) = snippet.error() {
            return Err(EditError::BadSnippet(what));
        }
        let layout = &mut self.class.scratch.layout;
        let size = layout.snippets.len() + snippet.bytes().len();
        let (Ok(start), Ok(len)) = (layout.snippets.len().try_into(), snippet.bytes().len().try_into())
        else {
            return Err(EditError::TooLarge { size: size as u32 });
        };
        // What goes before all returns is the same for each. Only the last snippet is looked at, so that snippets stay in
        // the order in which they were given.
        if let Some(last) = layout.last_snippet.filter(|last| last.len == len)
            && layout.snippets.ends_with(snippet.bytes())
        {
            return Ok(last);
        }
        layout.snippets.extend_from_slice(snippet.bytes());
        layout.last_snippet = Some(Span { start, len });
        Ok(Span { start, len })
    }

    fn check_balanced(snippet: &Snippet) -> Result<(), EditError> {
        if snippet.net_effect() != 0 {
            return Err(EditError::BadSnippet("changes the stack depth"));
        }
        if snippet.is_terminal() {
            return Err(EditError::BadSnippet("does not reach its end"));
        }
        Ok(())
    }

    #[inline]
    fn insert(&mut self, bci: u32, rank: Rank, snippet: &Snippet) -> Result<(), EditError> {
        let scratch = &mut self.class.scratch;
        if !scratch.scan.is_start(bci) {
            return Err(EditError::NotAnInstruction { bci });
        }
        let place = Insertion::place(bci as u16, rank);
        let layout = &mut scratch.layout;
        let comes_last = layout.insertions.last().is_none_or(|last| last.is_before(place));
        let in_use = u16::try_from(layout.snippets.len()).ok().filter(|_| comes_last);
        let (insertion, len) = match (snippet.short(), in_use) {
            (Some((bytes, len)), Some(in_use)) => (Insertion::short(place, in_use, bytes, len), len),
            _ => {
                let Some(span) = self.keep_balanced(snippet)? else { return Ok(()) };
                (Insertion::kept(place, span), span.len.into())
            }
        };
        if rank == Rank::Entry {
            self.entry_growth = self.entry_growth.max(snippet.max_growth());
        } else {
            self.growth = self.growth.max(snippet.max_growth());
        }
        self.class.scratch.layout.insert(insertion, len, comes_last);
        Ok(())
    }

    /// Keeps a snippet that leaves the stack as it was; nothing if it is empty.
    #[inline(never)]
    fn keep_balanced(&mut self, snippet: &Snippet) -> Result<Option<Span>, EditError> {
        if snippet.bytes().is_empty() && snippet.error().is_none() {
            return Ok(None);
        }
        Self::check_balanced(snippet)?;
        self.keep(snippet).map(Some)
    }

    /// Run once per invocation, before everything else, also where the first instruction is a branch target.
    pub fn insert_entry(&mut self, snippet: &Snippet) -> Result<(), EditError> {
        if snippet.reaches_below() > 0 {
            return Err(EditError::BadSnippet("uses a stack that is empty at entry"));
        }
        self.insert(0, Rank::Entry, snippet)
    }

    /// Run before the instruction however control gets there: the place for block counters.
    pub fn insert_before(&mut self, bci: u32, snippet: &Snippet) -> Result<(), EditError> {
        self.insert(bci, Rank::Before, snippet)
    }

    /// Adds to an int local before some instructions, given as positions and amounts: the same as inserting a snippet with
    /// that `iinc` before each of them, in less time if they are in code order.
    pub fn insert_iincs(
        &mut self,
        local: u16,
        places: impl IntoIterator<Item = (u32, i32)>,
    ) -> Result<(), EditError> {
        let places = places.into_iter();
        self.reserve(places.size_hint().0);
        for (bci, by) in places {
            let scratch = &mut self.class.scratch;
            let place = Insertion::place(bci as u16, Rank::Before);
            let comes_last = scratch.layout.insertions.last().is_none_or(|last| last.is_before(place));
            let in_use = u16::try_from(scratch.layout.snippets.len());
            if let (Ok(local), Ok(by), Ok(in_use)) = (u8::try_from(local), i8::try_from(by), in_use)
                && comes_last
                && by != 0
                && scratch.scan.is_start(bci)
            {
                let bytes = [opcode::IINC, local, by.cast_unsigned()];
                scratch.layout.insert(Insertion::short(place, in_use, bytes, bytes.len()), bytes.len(), true);
            } else {
                self.insert_before(bci, Snippet::new().iinc(local, by))?;
            }
        }
        Ok(())
    }

    /// Whether a branch or a handler goes to the instruction.
    pub fn is_target(&self, bci: u32) -> bool {
        self.class.scratch.scan.is_target(bci) || self.class.scratch.scan.is_handler(bci)
    }

    /// Run only when control falls through from the instruction before.
    pub fn insert_fall_through(&mut self, bci: u32, snippet: &Snippet) -> Result<(), EditError> {
        // Where nothing falls through it would be dead code, for which the verifier wants a frame.
        let reached = self.class.scratch.scan.falls_in(bci);
        if !reached && self.class.scratch.scan.is_start(bci) {
            return Ok(());
        }
        self.insert(bci, Rank::FallThrough, snippet)
    }

    /// Run before every return, after counters inserted before the same instruction. The result is on the stack.
    pub fn insert_before_returns(&mut self, snippet: &Snippet) -> Result<(), EditError> {
        let returns = std::mem::take(&mut self.class.scratch.scan.returns);
        let inserted = returns.iter().try_for_each(|&bci| self.insert(bci.into(), Rank::Leave, snippet));
        self.class.scratch.scan.returns = returns;
        inserted
    }

    /// Run when an exception arrives at the handler, before the code there, but not when a branch goes there.
    pub fn insert_at_handler(&mut self, handler: u32, snippet: &Snippet) -> Result<(), EditError> {
        if !self.class.scratch.scan.is_handler(handler) {
            return Err(EditError::NotAnInstruction { bci: handler });
        }
        match frame_table::handler_place(self, handler) {
            Ok(rank) => self.insert(handler, rank, snippet),
            Err(key) => self.insert_stub(key, handler, snippet, false),
        }
    }

    /// The same for a snippet that may throw. A handler of everything then gets what was thrown in place of the first exception,
    /// so that one that covers itself, as that of a `synchronized` block does, still comes to an end; of other handlers, those
    /// around them get it.
    pub fn insert_guarded_at_handler(&mut self, handler: u32, snippet: &Snippet) -> Result<(), EditError> {
        if !self.class.scratch.scan.is_handler(handler) {
            return Err(EditError::NotAnInstruction { bci: handler });
        }
        self.insert_stub(EdgeKey::Handler(handler), handler, snippet, true)
    }

    /// Run when control takes this way. The snippet goes before a jump that is always taken, and for others to a stub
    /// at the end of the code.
    pub fn insert_on_edge(&mut self, edge: Edge, snippet: &Snippet) -> Result<(), EditError> {
        let (bci, key) = match edge {
            Edge::Branch(bci) => (bci, EdgeKey::Branch(bci)),
            Edge::Case(bci, case) => (bci, EdgeKey::Case(bci, case)),
            Edge::Default(bci) => (bci, EdgeKey::Default(bci)),
        };
        let missing = EditError::NotAnInstruction { bci };
        if !self.class.scratch.scan.is_start(bci) {
            return Err(missing);
        }
        let instruction = Instruction::at(self.class.code.bytes, bci)?;
        let target = match edge {
            Edge::Branch(_) => instruction.branch_target(),
            Edge::Default(_) => instruction.switch().map(|s| s.default),
            Edge::Case(_, case) => {
                instruction.switch().and_then(|s| s.cases().nth(case as usize)).map(|(_, target)| target)
            }
        };
        let target = target.ok_or(missing)?;
        // What always jumps needs no stub. For jsr a stub would even be wrong: the old verifier names a subroutine by
        // where jsr goes, and two stubs would make one subroutine two.
        let always = matches!(instruction.info().class, InstructionClass::Goto | InstructionClass::Jsr);
        if always {
            self.insert(bci, Rank::Leave, snippet)
        } else {
            self.insert_stub(key, target, snippet, false)
        }
    }

    fn insert_stub(
        &mut self,
        key: EdgeKey,
        target: u32,
        snippet: &Snippet,
        guarded: bool,
    ) -> Result<(), EditError> {
        Self::check_balanced(snippet)?;
        let span = self.keep(snippet)?;
        self.growth = self.growth.max(snippet.max_growth());
        self.class.scratch.layout.edges.push(EdgeInsertion {
            key,
            target,
            snippet: span,
            position: u32::MAX,
            guarded,
        });
        Ok(())
    }

    /// Run when an exception leaves the method: thrown anywhere after the entry snippets and not caught by the
    /// method's own handlers. The snippet finds the exception on the stack and leaves it there; it may use the new
    /// locals, no others. Several run in the order in which they were given, and then the exception is thrown on. In a
    /// constructor this does not cover the call of `super()` or `this()` itself, which no handler can.
    pub fn catch_all(&mut self, snippet: &Snippet) -> Result<(), EditError> {
        Self::check_balanced(snippet)?;
        if snippet.reaches_below() > 1 {
            return Err(EditError::BadSnippet("a handler must use nothing but the exception"));
        }
        if self.method.name() == b"<init>" && self.class.class.super_name().is_none() {
            return Err(EditError::ObjectConstructor);
        }
        let before = self.catch_all;
        let span = self.keep_handler(before.map(|before| before.snippet), snippet)?;
        let growth = before.map_or(0, |before| before.growth).max(snippet.max_growth() + 1);
        self.catch_all = Some(CatchAll { snippet: span, growth, handlers: [None; 2] });
        Ok(())
    }

    /// Keeps the code of the handler: what it did before, the snippet, and `athrow`.
    fn keep_handler(&mut self, before: Option<Span>, snippet: &Snippet) -> Result<Span, EditError> {
        if let Some(what) = snippet.error() {
            return Err(EditError::BadSnippet(what));
        }
        let layout = &mut self.class.scratch.layout;
        let start = layout.snippets.len();
        if let Some(before) = before {
            let from = usize::from(before.start);
            layout.snippets.extend_from_within(from..from + usize::from(before.len).saturating_sub(1));
        }
        layout.snippets.extend_from_slice(snippet.bytes());
        layout.snippets.push(opcode::ATHROW);
        let size = layout.snippets.len();
        let (Ok(start), Ok(len)) = (u16::try_from(start), u16::try_from(size - start)) else {
            return Err(EditError::TooLarge { size: size as u32 });
        };
        layout.last_snippet = Some(Span { start, len });
        Ok(Span { start, len })
    }

    /// Whether nothing is inserted yet.
    pub fn is_unchanged(&self) -> bool {
        let scratch = &self.class.scratch;
        scratch.layout.insertions.is_empty()
            && scratch.layout.edges.is_empty()
            && scratch.new_locals.slots() == 0
            && self.catch_all.is_none()
    }

    /// Writes the edited method. On error the method stays as it was.
    pub fn finish(mut self) -> Result<Edited, EditError> {
        if self.class.code.bytes.len() == 1 && self.method.is_empty_finalizer() {
            return Err(EditError::EmptyFinalizer);
        }
        let deepest = (u32::from(self.class.code.max_stack) + self.growth)
            .max(self.entry_growth)
            .max(self.catch_all.map_or(0, |c| c.growth));
        let max_stack = u16::try_from(deepest).map_err(|_| EditError::StackTooDeep)?;

        let (old_start, old_len) = (self.class.attribute.offset, 6 + self.class.attribute.data.len());
        let class = self.class.class;
        let scratch = &self.class.scratch;
        let longest = scratch.layout.longest(&self.class.code, &scratch.scan) as usize;
        let handler = self.catch_all.map_or(0, |c| usize::from(c.snippet.len));
        let growth = Growth {
            code: longest.saturating_sub(self.class.code.bytes.len()) + handler,
            // Frames that were a byte may have to list all locals: an eighth of everything else a method has is about that.
            tables: (old_len - self.class.code.bytes.len()) / 8 + if handler == 0 { 0 } else { 128 },
            pool: self.class.pool.added().len(),
        };
        let (part, mut out) = self.class.scratch.output.begin(class, old_start, old_start + old_len, growth);
        let written = emit::code_attribute(&mut self, &mut out, max_stack);
        let written = self.class.scratch.output.end(class, part, out, written);
        Ok(Edited { old_size: self.class.code.bytes.len() as u32, new_size: written? })
    }

    /// Where the handlers of the catch-all go, after the code, and what they cover.
    pub(crate) fn place_catch_all(&mut self) -> Result<Option<CatchAll>, EditError> {
        self.class.scratch.regions.clear();
        let Some(mut catch_all) = self.catch_all else { return Ok(None) };
        let mut regions = std::mem::take(&mut self.class.scratch.regions);
        this::regions(self, &mut regions)?;
        let mut position = self.class.scratch.layout.stubs_end;
        for (handler, uninitialized) in catch_all.handlers.iter_mut().zip([false, true]) {
            if regions.iter().any(|r| r.uninitialized == uninitialized) {
                *handler = Some(position);
                position += u32::from(catch_all.snippet.len);
            }
        }
        self.class.scratch.regions = regions;
        Ok(Some(catch_all))
    }

    /// Is the new code as short as it must be?
    pub(crate) fn check_size(&self, size: usize) -> Result<u32, EditError> {
        match size as u32 {
            size @ 65_536.. => Err(EditError::TooLarge { size }),
            size if size > self.limit => Err(EditError::OverLimit { size, limit: self.limit }),
            size => Ok(size),
        }
    }
}
