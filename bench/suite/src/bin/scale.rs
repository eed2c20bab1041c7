//! How time and memory grow with threads, depth of the stack, contexts and loaded classes.
//!
//! Each size runs plain and profiled, once; the program is `bench/scale/Scale.java`. What was measured stays in
//! `bench/results/scale.json`; `docs/measurements/scale.md` and its plots show everything measured so far.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use clap::{Parser, ValueEnum};
use quipu_bench::laboratory::{Laboratory, remember, remembered};
use quipu_bench::plot::{Plot, slope};
use quipu_bench::profiler::Profiler;
use quipu_bench::program::Program;
use quipu_bench::results::Setting;
use serde::{Deserialize, Serialize};

/// How time and memory grow.
#[derive(Parser)]
#[command(after_help = "\
Examples:
  cargo run -p quipu-bench --bin scale -- threads contexts
  cargo run -p quipu-bench --bin scale -- virtual --jdk 25
  cargo run -p quipu-bench --bin scale -- contexts --most 10000000")]
struct Options {
    /// What grows [default: everything the JDK can do]
    axes: Vec<Axis>,
    /// A JDK by release or directory [default: the oldest from 17 on]
    #[arg(long)]
    jdk: Option<String>,
    /// No sizes above this
    #[arg(long, default_value_t = u32::MAX)]
    most: u32,
}

/// What grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Axis {
    /// Platform threads that are there at the same time
    Threads,
    /// Virtual threads that are there at the same time
    Virtual,
    /// Frames on a stack
    Depth,
    /// Calling contexts
    Contexts,
    /// Loaded classes
    Classes,
}

impl Axis {
    const ALL: [Axis; 5] = [Axis::Threads, Axis::Virtual, Axis::Depth, Axis::Contexts, Axis::Classes];

    fn name(self) -> &'static str {
        match self {
            Axis::Threads => "threads",
            Axis::Virtual => "virtual",
            Axis::Depth => "depth",
            Axis::Contexts => "contexts",
            Axis::Classes => "classes",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Axis::Threads => "Platform threads at once, 400 calls each",
            Axis::Virtual => "Virtual threads at once, 400 calls each",
            Axis::Depth => "Frames on the stack, two million calls in all",
            Axis::Contexts => "Calling contexts, each entered once an iteration",
            Axis::Classes => "Loaded classes; the first iteration loads them",
        }
    }

    fn sizes(self) -> &'static [u32] {
        match self {
            Axis::Threads => &[1, 10, 100, 1_000, 10_000],
            Axis::Virtual => &[100, 1_000, 10_000, 100_000, 1_000_000],
            Axis::Depth => &[10, 100, 1_000, 10_000, 100_000],
            Axis::Contexts => &[10_000, 100_000, 1_000_000, 10_000_000, 50_000_000],
            Axis::Classes => &[100, 1_000, 10_000, 100_000],
        }
    }

    fn oldest_jdk(self) -> u32 {
        if self == Axis::Virtual { 21 } else { 17 }
    }
}

const ITERATIONS: usize = 2;

/// One size under one profiler.
#[derive(Serialize, Deserialize)]
struct Point {
    size: u32,
    profiler: String,
    /// Milliseconds of the first and of the second iteration.
    first: f64,
    second: f64,
    /// Megabytes of the JVM at the peak, of the profile in it, of the largest process.
    peak: f64,
    arena: f64,
    largest: f64,
    /// Seconds of the whole command.
    whole: f64,
    /// Bytes written.
    file: u64,
    lost: u64,
}

/// Everything along one axis.
#[derive(Serialize, Deserialize)]
struct Growth {
    jdk: u32,
    made: String,
    points: Vec<Point>,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let laboratory = Laboratory::open(options.jdk.as_deref(), "scale")?;
    let file = laboratory.at("bench/results/scale.json");
    let mut all: BTreeMap<String, Growth> = remembered(&file);
    let release = laboratory.jdk.release;
    let able: Vec<Axis> = Axis::ALL.into_iter().filter(|axis| axis.oldest_jdk() <= release).collect();
    let axes = if options.axes.is_empty() { &able } else { &options.axes };
    for axis in axes {
        let growth = measure(&laboratory, *axis, options.most)?;
        all.insert(axis.name().to_owned(), growth);
        remember(&file, &all)?;
    }
    fs::write(laboratory.at("docs/measurements/scale.md"), document(&all)?)?;
    for axis in Axis::ALL {
        if let Some(growth) = all.get(axis.name()) {
            for (short, what, of) in axis.measures() {
                let plot = plot(axis, what, growth, of);
                fs::write(
                    laboratory.at(&format!("docs/measurements/scale-{}-{short}.svg", axis.name())),
                    plot,
                )?;
            }
        }
    }
    Ok(())
}

fn measure(laboratory: &Laboratory, axis: Axis, most: u32) -> anyhow::Result<Growth> {
    let program = Program::load(&laboratory.at("bench/scale/Scale.java"))?;
    let profilers = [
        Profiler::plain(),
        laboratory.kind("exact", &["--exact", "--arena-limit", "8G"]),
        laboratory.kind("cpu", &["--cpu", "100"]),
    ];
    let mut points = Vec::new();
    for &size in axis.sizes().iter().filter(|size| **size <= most) {
        let words = [axis.name().to_owned(), size.to_string()];
        for profiler in &profilers {
            let outcome = match laboratory.run(&program, profiler, ITERATIONS, &words) {
                Ok(outcome) => outcome,
                // A size that is too large for the machine is a result; the smaller ones still are.
                Err(error) => {
                    let text = format!("{error:#}");
                    let first = text.lines().take(2).collect::<Vec<_>>().join(" ");
                    eprintln!("{} {size} {}: {first}", axis.name(), profiler.name);
                    continue;
                }
            };
            let megabytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
            let millis = |at: usize| outcome.run.iterations[at].wall as f64 / 1e6;
            let point = Point {
                size,
                profiler: profiler.name.clone(),
                first: millis(0),
                second: millis(1),
                peak: megabytes(outcome.run.peak),
                arena: megabytes(outcome.run.arena),
                largest: megabytes(outcome.run.peak_any),
                whole: outcome.run.whole as f64 / 1e9,
                file: outcome.product.size,
                lost: outcome.product.lost.iter().map(|(_, n)| n).sum(),
            };
            eprintln!(
                "{} {size} {}: {:.0} ms, then {:.0} ms, {:.0} MB, {:.1} s in all",
                axis.name(),
                profiler.name,
                point.first,
                point.second,
                point.peak,
                point.whole
            );
            points.push(point);
        }
    }
    let command =
        format!("cargo run -p quipu-bench --bin scale -- {} --jdk {}", axis.name(), laboratory.jdk.release);
    let made = Setting::here(&laboratory.root, std::slice::from_ref(&laboratory.jdk), command).markdown();
    Ok(Growth { jdk: laboratory.jdk.release, made, points })
}

type Measure = fn(&Point) -> f64;

impl Axis {
    /// What is plotted: a short name, what it is, and where it is. Classes are loaded in the first iteration.
    fn measures(self) -> [(&'static str, &'static str, Measure); 2] {
        let time: (_, _, Measure) = match self {
            Axis::Classes => ("time", "milliseconds of the first iteration", |point| point.first),
            _ => ("time", "milliseconds of the second iteration", |point| point.second),
        };
        [time, ("memory", "megabytes at the peak", |point| point.peak)]
    }
}

fn lines(growth: &Growth, of: Measure) -> Vec<(String, Vec<(f64, f64)>)> {
    let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for point in &growth.points {
        let at = (f64::from(point.size), of(point));
        match lines.iter_mut().find(|(name, _)| *name == point.profiler) {
            Some((_, points)) => points.push(at),
            None => lines.push((point.profiler.clone(), vec![at])),
        }
    }
    lines
}

fn plot(axis: Axis, what: &str, growth: &Growth, of: Measure) -> String {
    let lines = lines(growth, of)
        .into_iter()
        .map(|(name, points)| match slope(&points) {
            Some(slope) => (format!("{name}, slope {slope:.2}"), points),
            None => (name, points),
        })
        .collect();
    Plot { title: what, x: axis.title(), unit: "", logarithmic: true, lines }.svg()
}

fn document(all: &BTreeMap<String, Growth>) -> anyhow::Result<String> {
    let mut text = String::from(
        "# How cost grows\n\n\
         Two iterations of the same work in sizes that grow, one run each: plain, with exact counts, and with 100 CPU samples a \
         second. *First* and *second* are the two iterations, × is the second as a multiple of the plain one. *More a piece* is \
         the memory of the JVM at the peak beyond the plain run's, divided by the size. *Collector* is the peak of the largest \
         process, which is the one that writes the profile where that needs more than the JVM. Slopes are those of a straight \
         line on logarithmic axes: 1 is in proportion. Exact profiles may take 8 GB (`--arena-limit 8G`).\n",
    );
    for axis in Axis::ALL {
        let Some(growth) = all.get(axis.name()) else { continue };
        writeln!(text, "\n## {}: JDK {}\n", axis.title(), growth.jdk)?;
        writeln!(
            text,
            "| size | profiler | first ms | second ms | × | MB | more a piece, bytes | profile MB | collector MB | file kB | whole s | lost |"
        )?;
        writeln!(text, "|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")?;
        for point in &growth.points {
            let plain = growth.points.iter().find(|it| it.size == point.size && it.profiler == "plain");
            let ratio = plain.map_or(f64::NAN, |plain| point.second / plain.second);
            let more = plain
                .map_or(0.0, |plain| (point.peak - plain.peak) * f64::from(1 << 20) / f64::from(point.size));
            writeln!(
                text,
                "| {} | {} | {:.1} | {:.1} | {ratio:.2} | {:.0} | {} | {:.1} | {} | {:.0} | {:.1} | {} |",
                point.size,
                point.profiler,
                point.first,
                point.second,
                point.peak,
                if point.profiler == "plain" { String::new() } else { format!("{more:.0}") },
                point.arena,
                // Of a process that was small itself the system tells the size of the one that started it.
                if point.profiler == "exact" { format!("{:.0}", point.largest) } else { String::new() },
                point.file as f64 / 1e3,
                point.whole,
                point.lost
            )?;
        }
        for (short, what, of) in axis.measures() {
            let slopes: Vec<String> = lines(growth, of)
                .iter()
                .filter_map(|(name, points)| Some(format!("{name} {:.2}", slope(points)?)))
                .collect();
            writeln!(
                text,
                "\n![{what}](scale-{}-{}.svg)\n\nSlope of {what}: {}.",
                axis.name(),
                short,
                slopes.join(", ")
            )?;
        }
        writeln!(text, "\n{}", growth.made.trim_end())?;
    }
    Ok(text)
}
