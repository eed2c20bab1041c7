//! Rewriting: what it inserts, and how many methods that takes over a limit of HotSpot's.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use quipu_classfile::{BlockAnalysis, ClassFile};
use quipu_rewrite::{Bytecodes, Call, Counting, Exact, Known, OpaqueCallee, Plan, rewrite};

use crate::Again;

/// Bytes of bytecode up to which HotSpot inlines any method, inlines one that is called often, and compiles one at all.
const TINY: usize = 35;
const INLINED: usize = 325;
const COMPILED: usize = 8_000;

/// Which probes are inserted.
#[derive(Clone, Copy)]
pub enum Probes {
    /// Exact counts.
    Default,
    /// Exact counts with blocks that end wherever an exception can.
    Precise,
    /// Samples every so many bytecodes.
    Bytecodes,
}

/// What rewriting did to all methods together.
#[derive(Default)]
struct Sum {
    methods: usize,
    left: usize,
    before: usize,
    after: usize,
    class_before: usize,
    class_after: usize,
    over_tiny: usize,
    over_inlined: usize,
    over_compiled: usize,
    /// Bytes inserted into each method: all its probes together.
    inserted: Vec<usize>,
}

/// Rewrites all classes below a directory and prints what came of it.
pub fn all(directory: &Path, probes: Probes, again: Again) -> Result<(), Box<dyn Error>> {
    let plan = plan(probes);
    let mut files = Vec::new();
    class_files(directory, &mut files)?;
    files.sort();
    let mut sum = Sum::default();
    let mut first = 1;
    for (number, file) in files.iter().enumerate() {
        let bytes = fs::read(file)?;
        for _ in 1..again.times(number) {
            one(&ClassFile::parse(&bytes)?, &plan, first, &mut Sum::default())?;
        }
        let class = ClassFile::parse(&bytes)?;
        first += one(&class, &plan, first, &mut sum)?;
    }
    if sum.methods == 0 {
        return Err(format!("no methods below {}", directory.display()).into());
    }
    println!("methods {}", sum.methods);
    println!("left {}", sum.left);
    println!("inserted-bytes {}", sum.after - sum.before);
    sum.inserted.sort_unstable();
    for (name, percent) in [("least", 0), ("median", 50), ("most-of-nine-in-ten", 90)] {
        println!("inserted-bytes-a-method-{name} {}", sum.inserted[sum.inserted.len() * percent / 100]);
    }
    println!("class-bytes {}", sum.class_after - sum.class_before);
    println!("over-tiny-limit {}", sum.over_tiny);
    println!("over-inlining-limit {}", sum.over_inlined);
    println!("over-compilation-limit {}", sum.over_compiled);
    Ok(())
}

/// Rewrites a class; the result is how many ids it took.
fn one(class: &ClassFile<'_>, plan: &Plan, first: u32, sum: &mut Sum) -> Result<u32, Box<dyn Error>> {
    let rewritten = rewrite(class, plan, first, &NothingKnown)?;
    sum.left += rewritten.left.len();
    if let Some(bytes) = &rewritten.bytes {
        sum.class_before += class.bytes().len();
        sum.class_after += bytes.len();
        let after = ClassFile::parse(bytes)?;
        for shape in &rewritten.shapes {
            let (before, after) = (length(class, shape.index)?, length(&after, shape.index)?);
            sum.methods += 1;
            sum.inserted.push(after - before);
            sum.before += before;
            sum.after += after;
            sum.over_tiny += usize::from(before <= TINY && after > TINY);
            sum.over_inlined += usize::from(before <= INLINED && after > INLINED);
            sum.over_compiled += usize::from(before <= COMPILED && after > COMPILED);
        }
    }
    Ok(u32::try_from(class.methods().len())?)
}

fn length(class: &ClassFile<'_>, index: usize) -> Result<usize, Box<dyn Error>> {
    let method = class.method(index).ok_or("a method is gone")?;
    Ok(method.code()?.map_or(0, |code| code.bytes.len()))
}

fn plan(probes: Probes) -> Plan {
    let analysis = match probes {
        Probes::Precise => BlockAnalysis::Precise,
        Probes::Default | Probes::Bytecodes => BlockAnalysis::Default,
    };
    let counting = match probes {
        Probes::Default | Probes::Precise => Counting::Exact(Exact::default()),
        Probes::Bytecodes => Counting::Bytecodes(Bytecodes),
    };
    Plan { direct: true, analysis, counting, ..Plan::new("java/quipu") }
}

struct NothingKnown;

impl Known for NothingKnown {
    fn opaque(&self, _: &Call<'_>) -> Option<OpaqueCallee> {
        None
    }
}

fn class_files(directory: &Path, found: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            class_files(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "class") {
            found.push(path);
        }
    }
    Ok(())
}
