//! From events to the tree: a stack of frames as the VM reports them.

use std::collections::HashMap;
use std::io::{self, Write};

use quipu_classfile::opcode::{INVOKEINTERFACE, INVOKESPECIAL, INVOKESTATIC, INVOKEVIRTUAL};

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
            tree: Tree::new(),
            doubts: Doubts::default(),
        }
    }

    /// A method is entered.
    pub fn enter(&mut self, method: u32) {
        let context = self.stack.last().map_or(Some(CALLS), |frame| frame.context);
        let role = self.methods[method as usize].role;
        if role.is_opaque()
            && let Some(parent) = context
        {
            let how = self.how_called();
            let leaf = self.tree.call(parent, method);
            self.tree.made(leaf, how);
        }
        let own = match role {
            Role::Count => context.map(|parent| self.tree.call(parent, method)),
            Role::CountLoading => Some(self.tree.call(LOADING, method)),
            _ => None,
        };
        let context = match role {
            Role::Count | Role::CountLoading => own,
            Role::Loading => Some(LOADING),
            Role::Intrinsic => None,
            Role::Native | Role::UntouchedIntrinsic | Role::Transparent => context,
        };
        self.stack.push(Frame { method, context, own, bci: 0, steps: 0 });
    }

    /// A method is left, by an exception or not.
    pub fn exit(&mut self, method: u32) {
        match self.stack.pop() {
            Some(frame) if frame.method == method => {
                if frame.steps == 0 && !self.methods[method as usize].code.is_empty() {
                    self.doubts.without_steps += 1;
                    self.doubt("no steps in", method);
                }
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
        match self.stack.last_mut() {
            Some(frame) if frame.method == method => {
                frame.bci = bci;
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

    /// How many frames there are.
    pub fn depth(&self) -> usize {
        self.stack.len()
    }

    fn how_called(&self) -> Made {
        let Some(frame) = self.stack.last().filter(|frame| frame.own.is_some()) else { return Made::Otherwise };
        match self.methods[frame.method as usize].opcode(frame.bci) {
            INVOKESTATIC | INVOKESPECIAL => Made::Directly,
            INVOKEVIRTUAL | INVOKEINTERFACE => Made::Virtually,
            _ => Made::Otherwise,
        }
    }

    fn doubt(&mut self, what: &str, method: u32) {
        if self.doubts.first.is_none() {
            let top = self.stack.last().map_or("nothing".to_owned(), |frame| self.name(frame.method));
            self.doubts.first = Some(format!("{what} {} with {top} on top", self.name(method)));
        }
    }

    fn name(&self, method: u32) -> String {
        let Method { class, name, descriptor, .. } = &self.methods[method as usize];
        format!("{class}.{name}{descriptor}")
    }

    /// Writes what was counted, and what gave rise to doubt.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let Doubts { without_steps, stray_steps, stray_exits, first } = &self.doubts;
        for (what, n) in [("steps", without_steps), ("stray steps", stray_steps), ("stray exits", stray_exits)] {
            writeln!(out, "doubt\t{what}\t{n}\t{}", first.as_deref().unwrap_or_default())?;
        }
        self.tree.write(&self.methods, out)
    }
}
