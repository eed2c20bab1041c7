//! How long questions about heap dumps take, and how much memory: sizes that grow, beside another reader.
//!
//! The dumps are of `bench/heap/Orders.java`: many small objects, the worst case for whoever reads objects one by one. What
//! was measured stays in `bench/results/heap.json`; `docs/measurements/heap.md` and its plots show it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Parser;
use quipu_bench::laboratory::{Laboratory, remember, remembered};
use quipu_bench::plot::{Plot, slope};
use quipu_bench::results::Setting;
use serde::{Deserialize, Serialize};
use wait4::Wait4;

/// Time and memory of questions about heap dumps.
#[derive(Parser)]
#[command(after_help = "\
Examples:
  cargo run -p quipu-bench --bin heap
  cargo run -p quipu-bench --bin heap -- --most 1000 --peer ~/.cargo/bin/hprof-slurp")]
struct Options {
    /// A JDK by release or directory [default: the oldest from 17 on]
    #[arg(long)]
    jdk: Option<String>,
    /// No dumps of fewer megabytes; what was measured of others stays
    #[arg(long, default_value_t = 0)]
    least: u64,
    /// No dumps of more megabytes
    #[arg(long, default_value_t = 8_000)]
    most: u64,
    /// The crate hprof-slurp's program [default: it is installed below target]
    #[arg(long)]
    peer: Option<PathBuf>,
    /// Runs of each, of which the fastest counts; one for dumps of more than a gigabyte
    #[arg(long, default_value_t = 3)]
    runs: usize,
}

/// Megabytes of dumps.
const SIZES: [u64; 5] = [100, 300, 1_000, 3_000, 8_000];
/// Bytes that an order and all that belongs to it take in a dump.
const ORDER: u64 = 698;

/// One question to one dump.
#[derive(Serialize, Deserialize)]
struct Point {
    /// Megabytes that the dump should have, and those that it has.
    wanted: u64,
    size: f64,
    objects: u64,
    question: String,
    seconds: f64,
    /// Megabytes at the peak.
    peak: f64,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let laboratory = Laboratory::open(options.jdk.as_deref(), "heap")?;
    let place = laboratory.workshop.made.join("heap");
    let peer = match &options.peer {
        Some(peer) => peer.clone(),
        None => install(&place)?,
    };
    let dump = place.join("orders.hprof");
    let results = laboratory.at("bench/results/heap.json");
    let mut points: Vec<Point> = remembered(&results);
    let wanted = options.least..=options.most;
    points.retain(|point| !wanted.contains(&point.wanted));
    for size in SIZES.into_iter().filter(|size| wanted.contains(size)) {
        write_dump(&laboratory, size, &dump)?;
        let megabytes = fs::metadata(&dump)?.len() as f64 / 1e6;
        let objects = objects(laboratory.quipu(), &dump)?;
        let index = place.join("index");
        fs::create_dir_all(&index)?;
        let ours = |words: &[&str]| -> Command {
            let mut command = Command::new(laboratory.quipu());
            command.arg("heap").args(words);
            command
        };
        let file = dump.to_str().context("a path in UTF-8")?;
        let index = index.to_str().context("a path in UTF-8")?;
        let mut slurp = Command::new(&peer);
        slurp.arg(&dump);
        let mut questions = [
            ("histo", ours(&["histo", file])),
            ("hprof-slurp", slurp),
            ("dominators", ours(&["dominators", file, "--by", "class"])),
            ("dominators --index", ours(&["dominators", file, "--by", "class", "--index", index])),
            ("everything", ours(&[file])),
        ];
        for (name, command) in &mut questions {
            let mut best: Option<(f64, f64)> = None;
            let runs = if size > 1_000 { 1 } else { options.runs };
            for _ in 0..runs {
                let (seconds, peak) = run(command)?;
                best = Some(best.map_or((seconds, peak), |(s, p)| (s.min(seconds), p.max(peak))));
            }
            let (seconds, peak) = best.context("at least one run")?;
            eprintln!("{megabytes:.0} MB, {name}: {seconds:.2} s, {peak:.0} MB");
            points.push(Point {
                wanted: size,
                size: megabytes,
                objects,
                question: (*name).to_owned(),
                seconds,
                peak,
            });
        }
        fs::remove_file(&dump)?;
    }
    points.sort_by_key(|point| point.wanted);
    remember(&results, &points)?;
    let command = format!(
        "cargo run -p quipu-bench --bin heap -- --least {} --most {} --runs {}",
        options.least, options.most, options.runs
    );
    let made = Setting::here(&laboratory.root, std::slice::from_ref(&laboratory.jdk), command).markdown();
    fs::write(laboratory.at("docs/measurements/heap.md"), document(&points, &made)?)?;
    for (short, what, of) in MEASURES {
        let plot = Plot {
            title: what,
            x: "megabytes of the dump",
            unit: "",
            logarithmic: true,
            lines: lines(&points, of),
        };
        fs::write(laboratory.at(&format!("docs/measurements/heap-{short}.svg")), plot.svg())?;
    }
    Ok(())
}

/// The other reader, from the registry of Rust's packages.
fn install(place: &Path) -> anyhow::Result<PathBuf> {
    let program = place.join("tools/bin/hprof-slurp");
    if !program.exists() {
        let mut cargo = Command::new("cargo");
        cargo.args(["install", "--quiet", "--locked", "hprof-slurp", "--root"]).arg(place.join("tools"));
        if !cargo.status()?.success() {
            bail!("hprof-slurp could not be installed; --peer names its program");
        }
    }
    Ok(program)
}

fn write_dump(laboratory: &Laboratory, size: u64, dump: &Path) -> anyhow::Result<()> {
    let source = laboratory.at("bench/heap/Orders.java");
    let mut java = Command::new(laboratory.jdk.tool("java"));
    // What it holds is about two thirds of its dump, and a collection needs room.
    java.arg(format!("-Xmx{}m", 512 + size * 9 / 10))
        .arg(source)
        .arg((size * 1_000_000 / ORDER).to_string())
        .arg(dump);
    if !java.status()?.success() {
        bail!("no dump of {size} MB could be made");
    }
    Ok(())
}

fn objects(quipu: &Path, dump: &Path) -> anyhow::Result<u64> {
    let output = Command::new(quipu).args(["heap", "histo", "--json", "--limit", "1"]).arg(dump).output()?;
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    answer["total"]["objects"].as_u64().context("a number of objects")
}

/// Seconds, and megabytes at the peak.
fn run(command: &mut Command) -> anyhow::Result<(f64, f64)> {
    let begun = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let ended = child.wait4()?;
    if !ended.status.success() {
        bail!("{command:?} failed");
    }
    Ok((begun.elapsed().as_secs_f64(), ended.rusage.maxrss as f64 / 1e6))
}

type Measure = fn(&Point) -> f64;

const MEASURES: [(&str, &str, Measure); 2] =
    [("time", "seconds", |point| point.seconds), ("memory", "megabytes at the peak", |point| point.peak)];

fn lines(points: &[Point], of: Measure) -> Vec<(String, Vec<(f64, f64)>)> {
    let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for point in points {
        match lines.iter_mut().find(|(name, _)| *name == point.question) {
            Some((_, line)) => line.push((point.size, of(point))),
            None => lines.push((point.question.clone(), vec![(point.size, of(point))])),
        }
    }
    lines
}

fn document(points: &[Point], made: &str) -> anyhow::Result<String> {
    let mut text = String::from(
        "# Heap dumps: time and memory\n\n\
         Dumps of a heap of many small objects (`bench/heap/Orders.java`) in sizes that grow, in the page cache; the fastest of \
         some runs, and the largest peak. *histo* counts objects by class, as `hprof-slurp` does; *dominators* adds up what \
         each class holds; *everything* is `quipu heap FILE`. With `--index` tables are in files that are mapped: what is \
         resident then counts as memory here, but the system can take it back. *Of the dump* is the peak as a share of the \
         dump's size.\n\n\
         | dump MB | objects | question | seconds | MB/s | peak MB | of the dump |\n|---:|---:|---|---:|---:|---:|---:|\n",
    );
    for point in points {
        writeln!(
            text,
            "| {:.0} | {} | {} | {:.2} | {:.0} | {:.0} | {:.0} % |",
            point.size,
            point.objects,
            point.question,
            point.seconds,
            point.size / point.seconds,
            point.peak,
            point.peak * 100.0 / point.size
        )?;
    }
    for (short, what, of) in MEASURES {
        let slopes: Vec<String> = lines(points, of)
            .iter()
            .filter_map(|(name, points)| Some(format!("{name} {:.2}", slope(points)?)))
            .collect();
        writeln!(text, "\n![{what}](heap-{short}.svg)\n\nSlope of {what}: {}.", slopes.join(", "))?;
    }
    writeln!(text, "\n{}", made.trim_end())?;
    Ok(text)
}
