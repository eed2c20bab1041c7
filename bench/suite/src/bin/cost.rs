//! The cost check of `./check`: instructions, allocations and inserted bytes of fixed work against
//! `bench/cost/baseline.txt`.
//!
//! The work is rewriting all classes of one pinned library, and writing and reading a profile and an arena made from a
//! fixed sequence; nothing depends on the clock or on the JDK. `--bless` writes the baseline; `--prove` also plants a
//! regression of a twentieth and fails if that is not found.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;

use anyhow::{Context, bail};
use clap::Parser;
use quipu_bench::callgrind;
use quipu_bench::cost::{self, Costs};
use quipu_bench::jdk::Jdk;
use quipu_bench::workshop::Workshop;

const LIBRARY: &str = "com.h2database:h2:2.3.232";

/// What `--prove` does twice: every twentieth class.
const PLANTED: &str = "again=20";

/// The C library is to take the same version of its functions whatever the processor has.
const SAME_EVERYWHERE: &str =
    "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX2,-AVX_Fast_Unaligned_Load,-ERMS,-FSRM,-SSSE3";

/// Instructions, allocations and inserted bytes of fixed work, against a baseline.
#[derive(Parser)]
struct Options {
    /// Write the baseline
    #[arg(long)]
    bless: bool,
    /// Then plant a regression of 5% in the rewriter: it must be found
    #[arg(long, conflicts_with = "bless")]
    prove: bool,
}

fn main() -> ExitCode {
    match check(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cost: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn check(options: &Options) -> anyhow::Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let workshop = Workshop { sources: root.join("bench"), made: root.join("target/bench") };
    let worker = Worker { file: build(&root)?, made: workshop.made.clone() };
    let classes = library(&workshop)?;
    let place = root.join("bench/cost/baseline.txt");
    let compiler = compiler()?;
    let [written, read_back] = ["cost-written.quipu", "cost.quipu"]
        .map(|name| workshop.made.join(name).to_string_lossy().into_owned());
    worker.run(&["write", &read_back])?;
    let works: [(&str, Vec<&str>); 6] = [
        ("rewrite-default", vec!["rewrite", "default", &classes]),
        ("rewrite-precise", vec!["rewrite", "precise", &classes]),
        ("rewrite-bytecodes", vec!["rewrite", "bytecodes", &classes]),
        ("profile-write", vec!["write", &written]),
        ("profile-read", vec!["read", &read_back]),
        ("arena-read", vec!["arena"]),
    ];
    let costs: Costs = thread::scope(|scope| {
        let running: Vec<_> =
            works.iter().map(|(name, words)| scope.spawn(|| worker.measure(name, words))).collect();
        let mut costs = Costs::new();
        for one in running {
            costs.extend(one.join().map_err(|_| anyhow::anyhow!("a thread ended early"))??);
        }
        anyhow::Ok(costs)
    })?;
    if options.bless {
        std::fs::write(&place, cost::baseline(&costs, &compiler))?;
        return Ok(true);
    }
    let baseline =
        std::fs::read_to_string(&place).with_context(|| format!("cannot read {}", place.display()))?;
    let stranger = is_stranger(&baseline, &compiler);
    let (table, failed) = cost::compare(&cost::parse(&baseline), &costs, stranger);
    print!("{}", table.text());
    if !failed.is_empty() {
        eprintln!(
            "cost: more than the baseline allows: {}. If that is meant: cargo run -p quipu-bench --bin cost -- --bless",
            failed.join(", ")
        );
    }
    Ok(failed.is_empty() && (!options.prove || prove(&worker, &classes, &costs)?))
}

/// Whether the baseline was made by another release of the compiler; says so.
fn is_stranger(baseline: &str, compiler: &str) -> bool {
    let of = cost::compiler_of(baseline).unwrap_or_default();
    if of != compiler {
        eprintln!("cost: the baseline is of rustc {of}, this is {compiler}: instructions get more room");
    }
    of != compiler
}

/// True if a regression of a twentieth is found.
fn prove(worker: &Worker, classes: &str, costs: &Costs) -> anyhow::Result<bool> {
    const WORK: &str = "rewrite-default";
    let planted = worker.measure(WORK, &["rewrite", "default", classes, PLANTED])?;
    let mut before = costs.clone();
    before.retain(|name, _| name.split('.').next() == Some(WORK));
    let (_, failed) = cost::compare(&before, &planted, false);
    let instructions = format!("{WORK}.instructions");
    let found = failed.contains(&instructions);
    println!(
        "planted, every twentieth class twice: {} instructions, {} before: {}",
        planted[&instructions],
        before[&instructions],
        if found { "found" } else { "NOT FOUND" }
    );
    Ok(found)
}

/// The directory with the classes of the library.
fn library(workshop: &Workshop) -> anyhow::Result<String> {
    let jdk = Jdk::wanted(&[])?.remove(0);
    let lib = workshop.archives(&[LIBRARY.to_owned()])?.context("no library")?;
    Ok(workshop.unpacked(&lib, "org/h2", &jdk)?.to_string_lossy().into_owned())
}

/// The release of the compiler.
fn compiler() -> anyhow::Result<String> {
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .arg("--version")
        .output()
        .context("cannot start rustc")?;
    cost::release(&String::from_utf8_lossy(&output.stdout)).context("rustc does not say its version")
}

/// As it is shipped: instructions of other builds say little.
fn build(root: &Path) -> anyhow::Result<PathBuf> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let status = cargo
        .args(["build", "--quiet", "--release", "--locked", "-p", "quipu-cost"])
        .current_dir(root)
        .status()?;
    if !status.success() {
        bail!("quipu-cost does not build");
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    Ok(target.join("release/quipu-cost"))
}

/// The program that does the work.
struct Worker {
    file: PathBuf,
    made: PathBuf,
}

impl Worker {
    fn run(&self, words: &[&str]) -> anyhow::Result<()> {
        let output = Command::new(&self.file).args(words).output()?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }

    /// Does it under callgrind.
    fn measure(&self, name: &str, words: &[&str]) -> anyhow::Result<Costs> {
        let counts = self.made.join(format!("cost-{name}.callgrind"));
        let mut out = std::ffi::OsString::from("--callgrind-out-file=");
        out.push(&counts);
        let output = Command::new("valgrind")
            .arg("--tool=callgrind")
            .arg(out)
            .arg(&self.file)
            .args(words)
            .env("GLIBC_TUNABLES", SAME_EVERYWHERE)
            .output()
            .context("cannot start valgrind: install it")?;
        if !output.status.success() {
            bail!("{name} failed:\n{}", String::from_utf8_lossy(&output.stderr));
        }
        let counted = callgrind::sum(&std::fs::read_to_string(&counts)?, "/quipu-cost");
        if counted.own == 0 {
            bail!("{name}: callgrind counted nothing");
        }
        let mut costs = Costs::new();
        cost::figures(name, &String::from_utf8_lossy(&output.stdout), &mut costs);
        costs.insert(format!("{name}.instructions"), counted.own);
        costs.insert(format!("{name}.library-instructions"), counted.library);
        costs.insert(format!("{name}.allocations"), counted.allocations);
        Ok(costs)
    }
}
