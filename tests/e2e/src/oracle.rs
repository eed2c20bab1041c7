//! The truth: the program under the agent of `tests/oracle`, which has the interpreter report every bytecode.

use std::collections::BTreeMap;
use std::fs;

use crate::tools::{scratch, tools};
use crate::{Counts, Jdk, Program};

/// Flags that make two runs comparable, beside what `--deterministic` and the oracle pin. Identity hash codes are random
/// otherwise, or depend on what other threads do; with this they are all the same. The collector never has to run, so
/// that no weak reference is cleared.
pub const PINS: [&str; 7] = [
    // Strings of the archive come with their hash codes.
    "-Xshare:off",
    "-XX:+UnlockExperimentalVMOptions",
    "-XX:hashCode=2",
    "-XX:+UseSerialGC",
    "-Xms2g",
    "-Xmx2g",
    "-Xmn1800m",
];

/// A context: the methods from the thread's root on, as `class.name descriptor`.
pub type Path = Vec<String>;

/// What a method is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It has contexts.
    #[default]
    Counted,
    /// Native or intrinsic: a leaf.
    Opaque,
    /// It has no contexts; only what was called through the receiver's class is listed.
    Transparent,
}

/// What the truth says of a context.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Truth {
    /// What was counted.
    pub counts: Counts,
    /// What the method is.
    pub kind: Kind,
    /// Calls of a leaf by instructions that name it.
    pub direct: u64,
    /// Calls of a leaf by instructions that leave it to the receiver's class, in a method with a context.
    pub by_receiver: u64,
}

/// The two trees of the main thread.
#[derive(Debug, Default)]
pub struct Trees {
    /// What the program did.
    pub calls: BTreeMap<Path, Truth>,
    /// What it took to load and link classes.
    pub loading: BTreeMap<Path, Truth>,
    /// What the program printed.
    pub stdout: String,
}

/// Runs the program under the oracle.
pub fn trees(program: &Program, jdk: &Jdk) -> Trees {
    let file = scratch("oracle").join("tree.txt");
    let agent = format!("-agentpath:{}={}", tools().oracle.display(), file.display());
    // Without a compiler the VM does not set this property, and the table of properties would be another.
    let property = "-Dsun.management.compiler=none".to_owned();
    let output = program.run_without_profiler(jdk, &["-Xint".to_owned(), property, agent]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "under the oracle: {}\n{stderr}", output.status);
    let text = fs::read_to_string(&file).expect("the oracle's file");
    let mut trees = parse(&text);
    trees.stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    trees
}

fn parse(text: &str) -> Trees {
    let mut trees = Trees::default();
    // Tree and path by id; the roots have ids 0 and 1.
    let mut places: Vec<(bool, Path)> = vec![(false, Vec::new()), (true, Vec::new())];
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            ["doubt", what, n, first] => assert_eq!(n, "0", "the oracle doubts itself: {what}, {first}"),
            ["node", id, parent, class, name, descriptor, kind, calls, bytecodes, direct, by_receiver] => {
                let number = |text: &str| text.parse::<u64>().expect("a number");
                assert_eq!(number(id), places.len() as u64, "nodes come in order");
                let (loading, mut path) = places[number(parent) as usize].clone();
                path.push(format!("{class}.{name}{descriptor}"));
                places.push((loading, path.clone()));
                let tree = if loading { &mut trees.loading } else { &mut trees.calls };
                // The same class from several loaders is several methods to the VM.
                let truth = tree.entry(path).or_default();
                truth.counts += Counts { calls: number(calls), bytecodes: number(bytecodes) };
                truth.direct += number(direct);
                truth.by_receiver += number(by_receiver);
                truth.kind = match kind {
                    "opaque" => Kind::Opaque,
                    "transparent" => Kind::Transparent,
                    _ => Kind::Counted,
                };
            }
            _ => panic!("not a line of the oracle's: {line}"),
        }
    }
    trees
}
