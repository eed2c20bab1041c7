//! Sampled call edges against all of them, and what they cost: tables 2 and 3 of Arnold and Grove's paper.
//!
//! Table 2 is a grid of strides and samples in a window, in runs of a few seconds. Table 3 is, for each program, a short and a
//! long run with the first call after each tick only, and with windows as they are by default. Costs are of CPU time, and each is
//! compared with the plain run nearest before it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::Context;
use quipu_bench::heat::Heat;
use quipu_bench::laboratory::{Laboratory, Outcome, remember, remembered};
use quipu_bench::profiler::Profiler;
use quipu_bench::program::Program;
use quipu_bench::statistics::median;
use quipu_profile::{Matching, On, Profile, overlap};
use serde::{Deserialize, Serialize};

/// What is measured.
#[derive(clap::Args)]
pub struct Wanted {
    /// Programs of the suite
    #[arg(value_name = "PROGRAM", default_values = ["jackson", "saxon", "h2-oltp", "micro-megamorphic"])]
    programs: Vec<String>,
    /// Strides of the grid
    #[arg(long, value_delimiter = ',', default_values_t = [1, 3, 7, 15, 31])]
    strides: Vec<u32>,
    /// Samples in a window of the grid
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 32, 128])]
    samples: Vec<u32>,
    /// Runs of each setting; the median counts
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Seconds of short runs, and of those of the grid
    #[arg(long, default_value_t = 2.0)]
    short: f64,
    /// Seconds of long runs
    #[arg(long, default_value_t = 10.0)]
    long: f64,
}

/// The two ways that table 3 compares.
const WAYS: [(&str, &[&str]); 2] = [("timer", &["--calls", "timer"]), ("windows", &["--calls"])];

/// One program on one JDK.
#[derive(Serialize, Deserialize)]
struct Measured {
    made: String,
    lengths: Vec<Length>,
    grid: Vec<Point>,
}

/// Runs of one length.
#[derive(Serialize, Deserialize)]
struct Length {
    seconds: f64,
    iterations: usize,
    /// Edges that exhaustive counting found.
    edges: usize,
    ways: BTreeMap<String, Found>,
}

/// A setting of the grid.
#[derive(Serialize, Deserialize)]
struct Point {
    stride: u32,
    samples: u32,
    found: Found,
}

/// What one setting gave: medians over rounds.
#[derive(Serialize, Deserialize)]
struct Found {
    /// Percent of edges weighted by calls.
    overlap: f64,
    samples: f64,
    /// CPU time of an iteration, in percent more than the plain one's.
    cost: f64,
}

type All = BTreeMap<String, Measured>;

pub fn measure(laboratory: &Laboratory, wanted: &Wanted, made: &str) -> anyhow::Result<()> {
    let file = laboratory.at("bench/results/accuracy-calls.json");
    let mut all: All = remembered(&file);
    for name in &wanted.programs {
        let program = laboratory.program(name)?;
        let bench = Bench { laboratory, program: &program, rounds: wanted.rounds.max(1) };
        let mut lengths = Vec::new();
        let mut grid = Vec::new();
        for (i, seconds) in [wanted.short, wanted.long].into_iter().enumerate() {
            let (iterations, seconds) = bench.enough(seconds)?;
            let truth = bench.run(&laboratory.kind("exhaustive", &["--calls", "exhaustive"]), iterations)?;
            let truth = truth.profile()?;
            let settings = WAYS.iter().map(|(way, options)| laboratory.kind(way, options)).collect();
            let found = bench.all(&truth, iterations, settings)?;
            let ways = WAYS.iter().map(|(way, _)| (*way).to_owned()).zip(found).collect();
            lengths.push(Length { seconds, iterations, edges: truth.call_graph().edges.len(), ways });
            if i == 0 {
                for &stride in &wanted.strides {
                    let kind = |samples: &u32| {
                        let (stride, samples) = (stride.to_string(), samples.to_string());
                        laboratory.kind("grid", &["--calls", "--stride", &stride, "--samples", &samples])
                    };
                    let found = bench.all(&truth, iterations, wanted.samples.iter().map(kind).collect())?;
                    let points = wanted.samples.iter().zip(found);
                    grid.extend(points.map(|(&samples, found)| Point { stride, samples, found }));
                }
            }
        }
        let key = format!("{name}, JDK {}", laboratory.jdk.release);
        all.insert(key, Measured { made: made.to_owned(), lengths, grid });
        remember(&file, &all)?;
        fs::write(laboratory.at("docs/measurements/calls-accuracy.md"), document(&all)?)?;
        fs::write(laboratory.at("docs/measurements/calls-accuracy.svg"), heat(&all).svg())?;
    }
    Ok(())
}

struct Bench<'a> {
    laboratory: &'a Laboratory,
    program: &'a Program,
    rounds: usize,
}

impl Bench<'_> {
    fn run(&self, profiler: &Profiler, iterations: usize) -> anyhow::Result<Outcome> {
        self.laboratory.run(self.program, profiler, iterations, &[])
    }

    /// Iterations that take so long, and how long that is. They get faster as the program warms up: how many it takes is found
    /// out by trying.
    fn enough(&self, seconds: f64) -> anyhow::Result<(usize, f64)> {
        let mut iterations = 1;
        loop {
            let plain = self.run(&Profiler::plain(), iterations)?;
            let took = plain.run.iterations.iter().map(|it| it.wall as f64 / 1e9).sum::<f64>();
            if took >= seconds {
                return Ok((iterations, took));
            }
            iterations += ((seconds - took) * 1.1e3 / plain.wall).ceil() as usize;
        }
    }

    /// Each of these, behind a plain run, round by round.
    fn all(&self, truth: &Profile, iterations: usize, settings: Vec<Profiler>) -> anyhow::Result<Vec<Found>> {
        let mut runs: Vec<Vec<[f64; 3]>> = settings.iter().map(|_| Vec::new()).collect();
        for _ in 0..self.rounds {
            for (setting, runs) in settings.iter().zip(&mut runs) {
                let plain = self.run(&Profiler::plain(), iterations)?;
                let outcome = self.run(setting, iterations)?;
                let profile = outcome.profile()?;
                let samples = profile.metric("samples.calls").context("no calls in the profile")?.total();
                // Without any samples, nothing is alike.
                let alike = match samples {
                    0 => 0.0,
                    _ => overlap(&profile, truth, "calls", On::Edge, Matching::default())?,
                };
                runs.push([alike, samples as f64, (outcome.cpu / plain.cpu - 1.0) * 100.0]);
                eprintln!(
                    "{} {}: {alike:.1} % of {samples} samples",
                    self.program.name,
                    setting.quipu.join(" ")
                );
            }
        }
        let middle = |runs: &[[f64; 3]], of: usize| {
            median(&runs.iter().map(|run| run[of]).collect::<Vec<_>>()).unwrap_or(0.0)
        };
        let found = |runs: &Vec<[f64; 3]>| Found {
            overlap: middle(runs, 0),
            samples: middle(runs, 1),
            cost: middle(runs, 2),
        };
        Ok(runs.iter().map(found).collect())
    }
}

/// The mean over programs at each setting of the grid: overlap and cost.
fn mean(all: &All) -> BTreeMap<(u32, u32), [f64; 2]> {
    let mut sums: BTreeMap<(u32, u32), ([f64; 2], f64)> = BTreeMap::new();
    for Point { stride, samples, found } in all.values().flat_map(|program| &program.grid) {
        let (sum, n) = sums.entry((*stride, *samples)).or_default();
        *sum = [sum[0] + found.overlap, sum[1] + found.cost];
        *n += 1.0;
    }
    sums.into_iter().map(|(at, (sum, n))| (at, sum.map(|sum| sum / n))).collect()
}

/// Strides and samples that were measured.
fn axes(means: &BTreeMap<(u32, u32), [f64; 2]>) -> (Vec<u32>, Vec<u32>) {
    let mut axes: (Vec<u32>, Vec<u32>) = means.keys().copied().unzip();
    for axis in [&mut axes.0, &mut axes.1] {
        axis.sort_unstable();
        axis.dedup();
    }
    axes
}

fn heat(all: &All) -> Heat<'static> {
    let means = mean(all);
    let (strides, samples) = axes(&means);
    let cell = |stride: u32, samples: u32| {
        means
            .get(&(stride, samples))
            .map(|[overlap, cost]| (overlap / 100.0, format!("{overlap:.0} % / {cost:+.1} %")))
    };
    Heat {
        title: "overlap with all call edges / cost in CPU time, mean of all programs",
        across: ("samples in a window", samples.iter().map(u32::to_string).collect()),
        down: ("stride", strides.iter().map(u32::to_string).collect()),
        cells: strides.iter().map(|&stride| samples.iter().map(|&n| cell(stride, n)).collect()).collect(),
    }
}

fn document(all: &All) -> anyhow::Result<String> {
    let mut text = String::from(
        "# Accuracy and cost of sampled call edges\n\n\
         `cargo run -p quipu-bench --bin accuracy -- calls`; what was run, and on what machine, is said at the end. Overlap is over edges \
         (caller, call site, callee) with `--calls exhaustive` of another run with as many iterations, in percent; cost is CPU time of an \
         iteration, in percent more than in the plain run just before. Both are medians over rounds.\n\n\
         ## Strides and samples\n\nShort runs, mean of all programs: overlap / cost.\n\n![overlap and cost](calls-accuracy.svg)\n\n",
    );
    let means = mean(all);
    let (strides, samples) = axes(&means);
    let head: Vec<String> = samples.iter().map(|n| format!("{n} samples")).collect();
    writeln!(text, "| stride | {} |\n|---:|{}", head.join(" | "), "---:|".repeat(samples.len()))?;
    for stride in &strides {
        let cells: Vec<String> = samples
            .iter()
            .map(|n| {
                let at = means.get(&(*stride, *n));
                at.map_or_else(String::new, |[overlap, cost]| format!("{overlap:.1} / {cost:+.1}"))
            })
            .collect();
        writeln!(text, "| {stride} | {} |", cells.join(" | "))?;
    }
    writeln!(
        text,
        "\n## Short and long runs\n\n\
         | program | seconds | edges | timer: overlap | samples | cost | windows: overlap | samples | cost |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|"
    )?;
    for (name, program) in all {
        for length in &program.lengths {
            let cells: Vec<String> = WAYS
                .iter()
                .filter_map(|(way, _)| length.ways.get(*way))
                .map(|found| format!("{:.1} | {:.0} | {:+.1}", found.overlap, found.samples, found.cost))
                .collect();
            writeln!(text, "| {name} | {:.1} | {} | {} |", length.seconds, length.edges, cells.join(" | "))?;
        }
    }
    writeln!(text, "\n## What was run\n")?;
    for (name, program) in all {
        let iterations: Vec<String> =
            program.lengths.iter().map(|length| length.iterations.to_string()).collect();
        writeln!(text, "- {name}: {} iterations. {}", iterations.join(" and "), program.made.trim_end())?;
    }
    Ok(text)
}
