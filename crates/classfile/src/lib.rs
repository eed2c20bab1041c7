//! Parse, edit and write JVM class files.
//!
//! Three constraints shape the crate:
//!
//! * **What is not edited stays byte for byte.** Parsing is zero-copy; an edit splices new `Code` attributes and an
//!   extended constant pool into the old bytes. Unknown attributes, odd constant pools and lone surrogates survive.
//! * **Input is hostile.** No input makes it panic, recurse, or allocate by a length it has not checked. A method that
//!   cannot be edited safely is left alone and the caller learns why ([`EditError`]).
//! * **It runs while classes load.** No object per instruction, no hashing of positions; buffers are reused
//!   ([`Scratch`]).
//!
//! It knows nothing of a running JVM, of files, or of what is measured.
//!
//! # Reading
//!
//! [`ClassFile::parse`] gives the [`ConstantPool`], the members and their attributes; [`Method::code`] the [`Code`],
//! whose [`Instruction`]s are decoded where they lie with the one table in [`opcode`]. [`Blocks`] are the basic blocks
//! of a [`BlockAnalysis`].
//!
//! # Editing
//!
//! A method is entered, its blocks are counted in a new local, and the count is reported however the method is left:
//!
//! ```
//! use quipu_classfile::{BlockAnalysis, ClassEditor, ClassFile, EditError, Snippet, VerificationType};
//!
//! fn count_blocks(bytes: &[u8]) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
//!     let class = ClassFile::parse(bytes)?;
//!     let mut editor = ClassEditor::new(&class);
//!     let report = editor.pool().method_ref(b"Runtime", b"report", b"(I)V")?;
//!     let mut snippet = Snippet::new();
//!     for method in class.methods() {
//!         // `None`: native or abstract.
//!         let Some(mut code) = editor.edit_method(method.index())? else { continue };
//!         code.set_size_limit(8_000);
//!         let counter = code.new_local(VerificationType::Int)?;
//!
//!         code.insert_entry(snippet.clear().int16(0).istore(counter))?;
//!         for block in code.blocks(BlockAnalysis::Default).iter() {
//!             code.insert_before(block.start, snippet.clear().iinc(counter, block.instructions as i32))?;
//!         }
//!         snippet.clear().iload(counter).invokestatic(report, b"(I)V");
//!         code.insert_before_returns(&snippet)?;
//!         code.catch_all(&snippet)?;
//!
//!         match code.finish() {
//!             Ok(edited) => assert!(edited.new_size > edited.old_size),
//!             Err(EditError::OverLimit { size, .. }) => eprintln!("left alone: would be {size} bytes"),
//!             Err(reason) => eprintln!("left alone: {reason}"),
//!         }
//!     }
//!     Ok(editor.into_bytes().into_owned())
//! }
//! ```
//!
//! Snippets run in this order at an instruction: entry, fall-through, *(branches arrive here)*, handler entry, before,
//! before return; those of one kind in the order they were inserted. An insertion never separates a `new` from the
//! frames that name it, and [`ClassEditor::last_position`] tells where an old instruction went.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::unreachable
    )
)]

mod annotation;
mod blocks;
mod class;
mod code;
mod descriptor;
mod edit;
mod error;
mod frames;
mod instruction;
pub mod mutf8;
pub mod opcode;
mod pool;
mod read;
mod scan;
mod types;

pub use blocks::{Block, BlockAnalysis, Blocks, Flow, FlowKind};
pub use class::{Attribute, Attributes, ClassFile, Lists, Member, Method, access};
pub use code::{Code, ExceptionEntry};
pub use edit::{ClassEditor, CodeEditor, Edge, Edited, PoolEditor, Scratch, Snippet, VerificationType};
pub use error::{EditError, Error, ErrorKind};
pub use instruction::{Instruction, Instructions, Switch};
pub use opcode::{InstructionClass, InstructionClasses};
pub use pool::{Constant, ConstantPool, MemberRef, tag};
