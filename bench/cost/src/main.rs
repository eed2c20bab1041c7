//! Fixed work for the rewriter and the readers. Run under `valgrind --tool=callgrind` by the suite's `cost` program,
//! which compares the instructions executed, and the figures printed here, with a baseline.
//!
//! ```text
//! quipu-cost rewrite default|precise DIRECTORY    rewrites all class files below it
//! quipu-cost write FILE                           builds a profile and writes it
//! quipu-cost read FILE                            reads it, and sums it up by method
//! ```

#![forbid(unsafe_code)]

mod profiles;
mod rewriting;

use std::error::Error;
use std::path::Path;

use quipu_classfile::BlockAnalysis;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["rewrite", "default", from] => rewriting::all(Path::new(from), BlockAnalysis::Default),
        ["rewrite", "precise", from] => rewriting::all(Path::new(from), BlockAnalysis::Precise),
        ["write", to] => profiles::write(Path::new(to)),
        ["read", from] => profiles::read(Path::new(from)),
        _ => Err("usage: quipu-cost rewrite default|precise DIRECTORY | write FILE | read FILE".into()),
    }
}
