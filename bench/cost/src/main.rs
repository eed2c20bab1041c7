//! Fixed work for the rewriter and the readers. Run under `valgrind --tool=callgrind` by the suite's `cost` program,
//! which compares the instructions executed, and the figures printed here, with a baseline.
//!
//! ```text
//! quipu-cost rewrite default|precise|bytecodes DIRECTORY    rewrites all class files below it
//! quipu-cost write FILE                                    builds a profile and writes it
//! quipu-cost read FILE                                     reads it, and sums it up by method
//! quipu-cost arena                                         reads an arena into a profile
//! ```
//!
//! A last word `again=N` does every N-th piece of the work twice: a planted regression, to see that it is found.

#![forbid(unsafe_code)]

mod arenas;
mod profiles;
mod rewriting;

use std::error::Error;
use std::path::Path;

use rewriting::Probes;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let again = match words.last().and_then(|word| word.strip_prefix("again=")) {
        Some(every) => Again(every.parse()?),
        None => Again(usize::MAX),
    };
    words.retain(|word| !word.starts_with("again="));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["rewrite", "default", from] => rewriting::all(Path::new(from), Probes::Default, again),
        ["rewrite", "precise", from] => rewriting::all(Path::new(from), Probes::Precise, again),
        ["rewrite", "bytecodes", from] => rewriting::all(Path::new(from), Probes::Bytecodes, again),
        ["write", to] => profiles::write(Path::new(to)),
        ["read", from] => profiles::read(Path::new(from)),
        ["arena"] => arenas::read(),
        _ => Err(
            "usage: quipu-cost rewrite default|precise|bytecodes DIRECTORY | write FILE | read FILE | arena"
                .into(),
        ),
    }
}

/// How often work is done twice: a slowdown to be found.
#[derive(Clone, Copy)]
struct Again(usize);

impl Again {
    /// How often the piece of work with this number is done.
    fn times(self, number: usize) -> usize {
        if number % self.0 == self.0 - 1 { 2 } else { 1 }
    }
}
