//! From events to the tree: a stack of frames as the VM reports them.

use std::collections::HashMap;
use std::io::{self, Write};

use quipu_classfile::opcode::{INVOKEINTERFACE, INVOKESPECIAL, INVOKESTATIC, INVOKEVIRTUAL, IRETURN, RETURN};

use crate::roles::Role;
use crate::tree::{CALLS, LOADING, Made, NodeId, Tree};

/// A method that was entered.
#[derive(Debug)]
pub struct Method {
    /// Binary name of its class, with dots.
    pub class: String,
    /// Its name.
    pub name: String,
    /// Its descriptor.
    pub descriptor: String,
    /// What it is to the tree.
    pub role: Role,
    /// Its bytecodes; none if it is native.
    pub code: Vec<u8>,
    /// Whether the instruction at each index has been executed.
    pub seen: Vec<bool>,
}

impl Method {
    /// The opcode at an index.
    pub fn opcode(&self, bci: usize) -> u8 {
        self.code.get(bci).copied().unwrap_or(0)
    }
}

/// Where what a frame calls goes: below a context, or nowhere.
type Context = Option<NodeId>;

#[derive(Debug)]
struct Frame {
    method: u32,
    context: Context,
    /// The node its bytecodes are counted in.
    own: Option<NodeId>,
    bci: usize,
    steps: u64,
    /// Whether it executes the instruction for the first time, so that the VM may have to resolve what it names.
    resolving: bool,
    /// Where the breakpoint is that will tell that this instruction is done.
    breakpoint: Option<usize>,
    /// The next instruction, if nothing is thrown.
    next: Option<usize>,
}

/// What should never happen; the tests see to it that it did not.
#[derive(Debug, Default)]
struct Doubts {
    /// Frames that ended without a step though they have code.
    without_steps: u64,
    /// Steps in a method that is not on top of the stack.
    stray_steps: u64,
    /// Exits from a method that is not on top of the stack.
    stray_exits: u64,
    /// Instructions that were executed though another one was to come before.
    missed: u64,
    first: Option<String>,
}

/// The state of the thread that is watched.
#[derive(Debug)]
pub struct Recorder {
    /// All methods met.
    pub methods: Vec<Method>,
    /// Their numbers by the VM's ids.
    pub numbers: HashMap<usize, u32>,
    stack: Vec<Frame>,
    /// How many methods that load or link classes are on the stack.
    loads: u32,
    tree: Tree,
    doubts: Doubts,
}

impl Recorder {
    /// An empty stack.
    pub fn new() -> Recorder {
        Recorder {
            methods: Vec::new(),
            numbers: HashMap::new(),
            stack: Vec::new(),
            loads: 0,
            tree: Tree::new(),
            doubts: Doubts::default(),
        }
    }

    /// A method is entered.
    pub fn enter(&mut self, method: u32) {
        let context = self.stack.last().map_or(Some(CALLS), |frame| frame.context);
        let role = self.methods[method as usize].role;
        let how = self.how_called();
        if let Some(parent) = context
            && (role.is_opaque() || (role == Role::Transparent && how == Made::Virtually))
        {
            let leaf = self.tree.call(parent, method);
            self.tree.made(leaf, how);
        }
        let loads = matches!(role, Role::CountLoading | Role::Loading);
        // What loads classes leaves the context it is called in, unless that is class loading already.
        let context = if loads && self.loads == 0 { Some(LOADING) } else { context };
        self.loads += u32::from(loads);
        let own = match role {
            Role::Count | Role::CountLoading => context.map(|parent| self.tree.call(parent, method)),
            _ => None,
        };
        let context = match role {
            Role::Count | Role::CountLoading => own,
            Role::Intrinsic | Role::Hidden => None,
            Role::Native | Role::UntouchedIntrinsic | Role::Transparent | Role::Loading => context,
        };
        self.stack.push(Frame {
            method,
            context,
            own,
            bci: 0,
            steps: 0,
            resolving: false,
            breakpoint: None,
            next: None,
        });
    }

    /// A method is left.
    pub fn exit(&mut self, method: u32, by_exception: bool) {
        if by_exception {
            self.throws();
        } else {
            self.count_unreported_return(method);
        }
        match self.stack.pop() {
            Some(frame) if frame.method == method => {
                // What is hidden after all is the loading of some classes, which cannot be compared anyway.
                if frame.steps == 0 && !self.methods[method as usize].code.is_empty() && self.loads == 0 {
                    self.doubts.without_steps += 1;
                    self.doubt("no steps in", method);
                }
                let role = self.methods[method as usize].role;
                self.loads -= u32::from(matches!(role, Role::CountLoading | Role::Loading));
            }
            other => {
                self.stack.extend(other);
                self.doubts.stray_exits += 1;
                self.doubt("stray exit from", method);
            }
        }
    }

    /// A bytecode is about to be executed. True if it is the first time at this place.
    pub fn step(&mut self, method: u32, bci: usize) -> bool {
        if self.stack.last_mut().and_then(|frame| frame.next.take()).is_some_and(|next| next != bci) {
            self.doubts.missed += 1;
            self.doubt("missed a step in", method);
        }
        match self.stack.last_mut() {
            Some(frame) if frame.method == method => {
                frame.bci = bci;
                frame.resolving = false;
                frame.steps += 1;
                if let Some(own) = frame.own {
                    self.tree.step(own);
                }
            }
            _ => {
                self.doubts.stray_steps += 1;
                self.doubt("stray step in", method);
            }
        }
        let seen = self.methods[method as usize].seen.get_mut(bci);
        seen.is_some_and(|seen| !std::mem::replace(seen, true))
    }

    /// The instruction that is about to be executed may have to resolve what it names; a breakpoint is behind it.
    pub fn begin_to_resolve(&mut self, breakpoint: Option<usize>) {
        if let Some(frame) = self.stack.last_mut() {
            frame.resolving = true;
            frame.breakpoint = breakpoint;
        }
    }

    /// Says which instruction of the frame on top is the next, unless the one it is at throws.
    pub fn expect(&mut self, next: usize) {
        if let Some(frame) = self.stack.last_mut() {
            frame.next = Some(next);
        }
    }

    /// The instruction of the frame on top has thrown. If it was to resolve something, it will try again next time.
    pub fn throws(&mut self) {
        let Some(frame) = self.stack.last_mut() else { return };
        frame.next = None;
        let seen = self.methods[frame.method as usize].seen.get_mut(frame.bci);
        if let (true, Some(seen)) = (frame.resolving, seen) {
            *seen = false;
        }
    }

    /// Of a recursive call that ends with the same return as its caller, the VM may report one only: it takes the other
    /// for the place at which it was told to report steps, or breakpoints, again.
    fn count_unreported_return(&mut self, method: u32) {
        let Some(next) =
            self.stack.last().filter(|frame| frame.method == method).and_then(|frame| frame.next)
        else {
            return;
        };
        if (IRETURN..=RETURN).contains(&self.methods[method as usize].opcode(next)) {
            self.step(method, next);
        } else {
            self.doubts.missed += 1;
            self.doubt("missed the end of", method);
        }
    }

    /// Whether a breakpoint that was reached is of no more use. Another call of the method may still need it.
    pub fn is_done_with(&mut self, breakpoint: usize) -> bool {
        self.stack.last_mut().is_some_and(|frame| frame.breakpoint.take_if(|at| *at == breakpoint).is_some())
    }

    /// Whether the frame on top is at such an instruction.
    pub fn resolves(&self) -> bool {
        self.stack.last().is_some_and(|frame| frame.resolving)
    }

    /// How many frames there are.
    pub fn depth(&self) -> usize {
        self.stack.len()
    }

    fn how_called(&self) -> Made {
        let Some(frame) = self.stack.last().filter(|frame| frame.own.is_some()) else {
            return Made::Otherwise;
        };
        match self.methods[frame.method as usize].opcode(frame.bci) {
            INVOKESTATIC | INVOKESPECIAL => Made::Directly,
            INVOKEVIRTUAL | INVOKEINTERFACE => Made::Virtually,
            _ => Made::Otherwise,
        }
    }

    fn doubt(&mut self, what: &str, method: u32) {
        if self.doubts.first.is_none() {
            let frame = |frame: &Frame| format!("{} at {}", self.name(frame.method), frame.bci);
            let stack: Vec<String> = self.stack.iter().rev().take(12).map(frame).collect();
            self.doubts.first = Some(format!("{what} {} called by {}", self.name(method), stack.join(", ")));
        }
    }

    fn name(&self, method: u32) -> String {
        let Method { class, name, descriptor, .. } = &self.methods[method as usize];
        format!("{class}.{name}{descriptor}")
    }

    /// Writes what was counted, and what gave rise to doubt.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let Doubts { without_steps, stray_steps, stray_exits, missed, first } = &self.doubts;
        for (what, n) in [
            ("frames without steps", without_steps),
            ("stray steps", stray_steps),
            ("stray exits", stray_exits),
            ("missed steps", missed),
        ] {
            writeln!(out, "doubt\t{what}\t{n}\t{}", first.as_deref().unwrap_or_default())?;
        }
        self.tree.write(&self.methods, out)
    }
}
