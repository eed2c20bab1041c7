//! What `valgrind --tool=callgrind` wrote: instructions by object file, and calls of the allocator.
//!
//! Instructions of the program's own object are told apart from those of libraries, because the C library has several
//! versions of everything that copies memory and takes the one for the processor at hand.

use std::collections::BTreeMap;

/// The functions of the C library that allocate.
const ALLOCATORS: [&str; 6] = ["malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign"];

/// What a run cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Instructions in the program's own object.
    pub own: u64,
    /// … in all others.
    pub library: u64,
    /// Calls of the allocator from the program's own object.
    pub allocations: u64,
}

/// Sums up a file of callgrind's; `program` is the end of the path of the object that is the program's own.
pub fn sum(text: &str, program: &str) -> Cost {
    let mut cost = Cost::default();
    let (mut objects, mut functions) = (Names::default(), Names::default());
    let (mut own, mut allocator, mut callee_cost) = (false, false, false);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("ob=") {
            own = objects.name(name).ends_with(program);
        } else if let Some(name) = line.strip_prefix("cob=") {
            objects.name(name);
        } else if let Some(name) = line.strip_prefix("fn=") {
            functions.name(name);
        } else if let Some(name) = line.strip_prefix("cfn=") {
            allocator = ALLOCATORS.contains(&functions.name(name));
        } else if let Some(calls) = line.strip_prefix("calls=") {
            callee_cost = true;
            if own && allocator {
                cost.allocations += number(calls.split(' ').next());
            }
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            // A position and a cost; after a call, that of the callee, which has lines of its own.
            let instructions = number(line.split(' ').nth(1));
            match (std::mem::take(&mut callee_cost), own) {
                (true, _) => {}
                (false, true) => cost.own += instructions,
                (false, false) => cost.library += instructions,
            }
        }
    }
    cost
}

fn number(text: Option<&str>) -> u64 {
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Names are written once, with a number, `(3) malloc`; after that the number alone.
#[derive(Default)]
struct Names<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Names<'a> {
    fn name(&mut self, text: &'a str) -> &'a str {
        match text.split_once(' ') {
            Some((number, name)) => {
                self.0.insert(number, name);
                name
            }
            None => self.0.get(text).copied().unwrap_or(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cost, sum};

    #[test]
    fn own_instructions_are_told_from_those_of_libraries() {
        let text = "version: 1\nevents: Ir\nsummary: 160\n\nob=(1) /lib/libc.so.6\nfl=(1) ???\nfn=(1) malloc\n0 30\n\n\
                    ob=(2) /target/release/worker\nfn=(2) main\n10 100\n+2 5\ncob=(1)\ncfi=(1)\ncfn=(1)\ncalls=3 0 \n* 30\n\
                    cfn=(3) other\ncalls=9 0\n0 7\nfn=(3)\n5 7\n\nob=(1)\nfn=(4) calloc\n0 18\ncfn=(1)\ncalls=4 0\n0 3\n";
        assert_eq!(sum(text, "/worker"), Cost { own: 112, library: 48, allocations: 3 });
    }
}
