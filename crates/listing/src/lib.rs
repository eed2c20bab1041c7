//! A method's bytecode with the number of times each instruction was executed.
//!
//! A profile with block counts knows how often each block ran and where it starts, and nothing of what is in it. The
//! instructions come from the class file, which the caller finds. Blocks that do not fit the code are from another
//! version of the class, which is an error and not a guess.
#![forbid(unsafe_code)]

mod operands;
mod print;

pub use print::{json, text};

use quipu_classfile::{ClassFile, mutf8};
use quipu_profile::{MethodId, Profile};
use thiserror::Error;

/// Why there is no listing.
#[derive(Debug, Error)]
pub enum ListingError {
    /// The bytes are no class file.
    #[error("the class cannot be read: {0}")]
    Class(#[from] quipu_classfile::Error),
    /// A class without the method.
    #[error("the class has no method {0}: it is not the one that was profiled")]
    NoMethod(String),
    /// A native or abstract method.
    #[error("{0} has no bytecode: it is native or abstract")]
    NoCode(String),
    /// The profile did not count blocks, or not of this method.
    #[error("the profile has no block counts of {0}: make it with --blocks")]
    NoBlocks(String),
    /// Code with other blocks than those counted.
    #[error(
        "a block of {method} starts at {bci}, where the class has no instruction: it is not the one profiled"
    )]
    Mismatch {
        /// The method.
        method: String,
        /// Where the profile has a block.
        bci: u32,
    },
}

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Where it stands.
    pub bci: u32,
    /// The source line that begins here.
    pub line: Option<u32>,
    /// True for the first of its block.
    pub leads: bool,
    /// How often it was executed.
    pub count: u64,
    /// `invokevirtual`, …
    pub mnemonic: &'static str,
    /// What it works on, for people: locals, targets, constants by name.
    pub operands: String,
}

/// The instructions of a method of the profile, with their counts, out of its class.
pub fn listing(profile: &Profile, method: MethodId, class: &[u8]) -> Result<Vec<Row>, ListingError> {
    let known = profile.method(method);
    let (name, descriptor) = (profile.str(known.name), profile.str(known.descriptor));
    let shown = || format!("{}{descriptor}", profile.method_name(method));
    let class = ClassFile::parse(class)?;
    let found = class.methods().find(|method| {
        mutf8::decode(method.name()) == name && mutf8::decode(method.descriptor()) == descriptor
    });
    let code = found.ok_or_else(|| ListingError::NoMethod(shown()))?.code()?;
    let code = code.ok_or_else(|| ListingError::NoCode(shown()))?;
    let instructions = code.instructions().collect::<Result<Vec<_>, _>>()?;

    let mut blocks = known.blocks.iter().peekable();
    if blocks.peek().is_none() {
        return Err(ListingError::NoBlocks(shown()));
    }
    let mut lines = known.lines.iter().peekable();
    let mut count = 0;
    let mut rows = Vec::with_capacity(instructions.len());
    for instruction in instructions {
        let bci = instruction.bci;
        let leads = blocks.next_if(|block| block.bci == bci).inspect(|block| count = block.count).is_some();
        if let Some(block) = blocks.peek().filter(|block| block.bci <= bci) {
            return Err(ListingError::Mismatch { method: shown(), bci: block.bci });
        }
        rows.push(Row {
            bci,
            line: lines.next_if(|line| line.bci == bci).map(|line| line.line),
            leads,
            count,
            mnemonic: instruction.info().mnemonic,
            operands: operands::shown(&instruction, class.pool()),
        });
    }
    match blocks.next() {
        Some(block) => Err(ListingError::Mismatch { method: shown(), bci: block.bci }),
        None => Ok(rows),
    }
}
