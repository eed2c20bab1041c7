//! The cost check of `./check`: instructions and inserted bytes of fixed work against `bench/cost/baseline.txt`.
//!
//! `--bless` writes the baseline. The work is rewriting all classes of one pinned library, and writing and reading a
//! profile made from a fixed sequence; nothing depends on the clock or on the JDK.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};
use quipu_bench::cost::{self, Costs};
use quipu_bench::jdk::Jdk;
use quipu_bench::workshop::Workshop;

const LIBRARY: &str = "com.h2database:h2:2.3.232";

fn main() -> ExitCode {
    match check() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cost: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn check() -> anyhow::Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let workshop = Workshop { sources: root.join("bench"), made: root.join("target/bench") };
    let jdk = Jdk::wanted(&[])?.remove(0);
    let lib = workshop.archives(&[LIBRARY.to_owned()])?.context("no library")?;
    workshop.unpacked(&lib, "org/h2", &jdk)?;
    let classes = lib.with_file_name("unpacked").join("org/h2");
    let worker = build(&root)?;
    let profile = workshop.made.join("cost.quipu");
    let (classes, profile) = (classes.to_string_lossy(), profile.to_string_lossy());
    let mut costs = Costs::new();
    for (name, words) in [
        ("rewrite-default", vec!["rewrite", "default", &classes]),
        ("rewrite-precise", vec!["rewrite", "precise", &classes]),
        ("profile-write", vec!["write", &profile]),
        ("profile-read", vec!["read", &profile]),
    ] {
        measure(name, &worker, &words, &mut costs)?;
    }
    let place = root.join("bench/cost/baseline.txt");
    if std::env::args().any(|word| word == "--bless") {
        std::fs::write(&place, cost::baseline(&costs))?;
        return Ok(true);
    }
    let baseline =
        std::fs::read_to_string(&place).with_context(|| format!("cannot read {}", place.display()))?;
    let (table, failed) = cost::compare(&cost::parse(&baseline), &costs);
    print!("{}", table.text());
    if !failed.is_empty() {
        eprintln!(
            "cost: more than the baseline allows: {}. If that is meant: cargo run -p quipu-bench --bin cost -- --bless",
            failed.join(", ")
        );
    }
    Ok(failed.is_empty())
}

/// As it is shipped: instructions of other builds say little.
fn build(root: &Path) -> anyhow::Result<std::path::PathBuf> {
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

fn measure(name: &str, worker: &Path, words: &[&str], costs: &mut Costs) -> anyhow::Result<()> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(worker)
        .args(words)
        .output()
        .context("cannot start valgrind: install it")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{name} failed:\n{errors}");
    }
    cost::figures(name, &String::from_utf8_lossy(&output.stdout), costs);
    let instructions =
        cost::instructions(&errors).with_context(|| format!("{name}: callgrind counted nothing"))?;
    costs.insert(format!("{name}.instructions"), instructions);
    Ok(())
}
