//! Rewriting: what it inserts, and how many methods that takes over a limit of HotSpot's.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use quipu_classfile::{BlockAnalysis, ClassFile};
use quipu_rewrite::{Call, Known, OpaqueCallee, Plan, rewrite};

/// Bytes of bytecode up to which HotSpot inlines any method, inlines one that is called often, and compiles one at all.
const TINY: usize = 35;
const INLINED: usize = 325;
const COMPILED: usize = 8_000;

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
}

/// Rewrites all classes below a directory and prints what came of it.
pub fn all(directory: &Path, analysis: BlockAnalysis) -> Result<(), Box<dyn Error>> {
    let plan = plan(analysis);
    let mut files = Vec::new();
    class_files(directory, &mut files)?;
    files.sort();
    let mut sum = Sum::default();
    let mut first = 1;
    for file in &files {
        let bytes = fs::read(file)?;
        let class = ClassFile::parse(&bytes)?;
        first += one(&class, &plan, first, &mut sum)?;
    }
    if sum.methods == 0 {
        return Err(format!("no methods below {}", directory.display()).into());
    }
    println!("methods {}", sum.methods);
    println!("left {}", sum.left);
    println!("inserted-bytes {}", sum.after - sum.before);
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

fn plan(analysis: BlockAnalysis) -> Plan {
    Plan { direct: true, analysis, ..Plan::new("java/quipu") }
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
