//! How accurate samples are, beside what they cost.
//!
//! - `bytecodes`: samples every N bytecodes against the exact profile, for many N, with and without jitter: figure 9 of
//!   Binder's paper. The samples are the same every time, so each setting runs once.
//! - `cpu`: samples of CPU time against a program whose shares are known, and against the exact profile, plain and with
//!   each opcode counted with its weight on this machine.
//! - `calls`: sampled call edges against all of them, for many strides and numbers of samples, and beside the calls that a timer
//!   alone finds: tables 2 and 3 of Arnold and Grove's paper.
//!
//! What was measured of a program stays in `bench/results/`; the documents show all programs measured so far.

mod calls;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, ensure};
use clap::{Parser, Subcommand};
use quipu_bench::laboratory::{Laboratory, Outcome, remember, remembered};
use quipu_bench::plot::Plot;
use quipu_bench::profiler::{Origin, Profiler};
use quipu_bench::program::Program;
use quipu_bench::results::Setting;
use quipu_profile::{Matching, MethodFlags, On, Profile, overlap};
use serde::{Deserialize, Serialize};

/// How accurate samples are, beside what they cost.
#[derive(Parser)]
#[command(after_help = "\
Examples:
  cargo run -p quipu-bench --bin accuracy -- bytecodes h2-oltp:6 jackson:8
  cargo run -p quipu-bench --bin accuracy -- cpu --jdk 25
  cargo run -p quipu-bench --bin accuracy -- calls jackson --strides 1,7 --samples 8,32 --rounds 1")]
struct Options {
    #[command(subcommand)]
    what: What,
    /// A JDK by release or directory [default: the oldest from 17 on]
    #[arg(long, global = true)]
    jdk: Option<String>,
}

#[derive(Subcommand)]
enum What {
    /// Samples every N bytecodes against the exact profile
    Bytecodes {
        /// Programs of the suite and how many iterations they run
        #[arg(value_name = "PROGRAM:ITERATIONS", default_values = ["h2-oltp:6", "jackson:8", "saxon:8", "micro-fib:12"])]
        programs: Vec<String>,
    },
    /// Samples of CPU time against known shares and the exact profile
    Cpu {
        /// Programs of the suite to compare with their exact profiles, and how many iterations those are of
        #[arg(value_name = "PROGRAM:ITERATIONS", default_values = ["ecj:6", "h2-oltp:6", "jackson:8"])]
        programs: Vec<String>,
        /// Leave the program with known shares out
        #[arg(long)]
        no_shares: bool,
    },
    /// Sampled call edges against all of them
    Calls(calls::Wanted),
}

const EVERY: [u64; 8] = [500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000];
const JITTERS: [u64; 2] = [0, 100];

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let laboratory = Laboratory::open(options.jdk.as_deref(), "accuracy")?;
    match &options.what {
        What::Bytecodes { programs } => bytecodes(&laboratory, programs),
        What::Cpu { programs, no_shares } => cpu(&laboratory, programs, *no_shares),
        What::Calls(wanted) => calls::measure(&laboratory, wanted, &made(&laboratory)),
    }
}

/// `NAME:ITERATIONS`.
fn chosen(laboratory: &Laboratory, text: &str) -> anyhow::Result<(Program, usize)> {
    let (name, iterations) = text.split_once(':').context("programs are given as NAME:ITERATIONS")?;
    Ok((laboratory.program(name)?, iterations.parse()?))
}

/// Where and when.
fn made(laboratory: &Laboratory) -> String {
    let command = "cargo run -p quipu-bench --bin accuracy -- ".to_owned()
        + &std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    Setting::here(&laboratory.root, std::slice::from_ref(&laboratory.jdk), command).markdown()
}

/// One program under samples every N bytecodes.
#[derive(Serialize, Deserialize)]
struct Sampled {
    made: String,
    bytecodes: u64,
    contexts: usize,
    iterations: usize,
    plain: f64,
    exact: f64,
    settings: Vec<SampledAt>,
}

#[derive(Serialize, Deserialize)]
struct SampledAt {
    every: u64,
    jitter: u64,
    samples: u64,
    /// Percent of contexts weighted by bytecodes, and of methods.
    overlap: f64,
    overlap_methods: f64,
    /// Milliseconds of an iteration.
    wall: f64,
}

fn bytecodes(laboratory: &Laboratory, programs: &[String]) -> anyhow::Result<()> {
    let file = laboratory.at("bench/results/accuracy-bytecodes.json");
    let mut all: BTreeMap<String, Sampled> = remembered(&file);
    for text in programs {
        let (program, iterations) = chosen(laboratory, text)?;
        let run = |profiler: &Profiler| laboratory.run(&program, profiler, iterations, &[]);
        let plain = run(&Profiler::plain())?;
        let exact = run(&laboratory.kind("exact", &["--exact", "--deterministic"]))?;
        let truth = exact.profile()?;
        let total = truth.metric("bytecodes").context("no bytecodes in the exact profile")?.total();
        eprintln!("{}: {total} bytecodes in {} contexts", program.name, truth.tree().len());
        let mut settings = Vec::new();
        for (every, jitter) in EVERY.iter().flat_map(|n| JITTERS.map(|r| (*n, r))) {
            let (n, r) = (every.to_string(), jitter.to_string());
            let kind = laboratory.kind("sampled", &["--bytecodes", &n, "--jitter", &r, "--deterministic"]);
            let outcome = run(&kind)?;
            let profile = outcome.profile()?;
            let on = |on| overlap(&profile, &truth, "bytecodes", on, Matching::default());
            settings.push(SampledAt {
                every,
                jitter,
                samples: outcome.product.samples.unwrap_or(0),
                overlap: on(On::Context)?,
                overlap_methods: on(On::Method)?,
                wall: outcome.wall,
            });
            eprintln!("  N = {every}, R = {jitter}: {:.2} %", settings[settings.len() - 1].overlap);
        }
        let sampled = Sampled {
            made: made(laboratory),
            bytecodes: total,
            contexts: truth.tree().len(),
            iterations,
            plain: plain.wall,
            exact: exact.wall,
            settings,
        };
        all.insert(program.name.clone(), sampled);
        remember(&file, &all)?;
    }
    let document = laboratory.at("docs/measurements/bytecode-sampling-accuracy.md");
    fs::write(document, bytecodes_document(&all)?)?;
    let line = |jitter, of: Measure| -> Vec<(f64, f64)> {
        EVERY.iter().filter_map(|&n| Some((n as f64, mean(&all, n, jitter, of)?))).collect()
    };
    let accuracy = Plot {
        title: "overlap with the exact profile, over contexts, mean of all programs",
        x: "bytecodes between samples (N)",
        unit: " %",
        logarithmic: false,
        lines: vec![
            ("R = 0".to_owned(), line(0, |_, at| at.overlap)),
            ("R = 100".to_owned(), line(100, |_, at| at.overlap)),
        ],
    };
    fs::write(laboratory.at("docs/measurements/bytecode-sampling-accuracy.svg"), accuracy.svg())?;
    let cost = Plot {
        title: "time of an iteration, as a multiple of the plain one, mean of all programs",
        x: "bytecodes between samples (N)",
        unit: "",
        logarithmic: false,
        lines: vec![
            ("R = 0".to_owned(), line(0, |all, at| at.wall / all.plain)),
            ("R = 100".to_owned(), line(100, |all, at| at.wall / all.plain)),
        ],
    };
    fs::write(laboratory.at("docs/measurements/bytecode-sampling-cost.svg"), cost.svg())?;
    Ok(())
}

/// A figure of a program at a setting.
type Measure = fn(&Sampled, &SampledAt) -> f64;

/// The mean over programs of one setting.
fn mean(all: &BTreeMap<String, Sampled>, every: u64, jitter: u64, of: Measure) -> Option<f64> {
    let values: Vec<f64> = all
        .values()
        .flat_map(|program| program.settings.iter().map(move |at| (program, at)))
        .filter(|(_, at)| (at.every, at.jitter) == (every, jitter))
        .map(|(program, at)| of(program, at))
        .collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn bytecodes_document(all: &BTreeMap<String, Sampled>) -> anyhow::Result<String> {
    let mut text = String::from(
        "# Accuracy and cost of samples every N bytecodes\n\n\
         Overlap with the exact profile of the same run, over contexts and over methods, in percent; × is the time of an \
         iteration as a multiple of the plain one's, the median of the second half of the iterations of one run.\n\n\
         ![overlap](bytecode-sampling-accuracy.svg)\n\n![cost](bytecode-sampling-cost.svg)\n",
    );
    let mut table = |title: &str, rows: Vec<[Option<f64>; 6]>| -> anyhow::Result<()> {
        writeln!(text, "\n## {title}\n")?;
        writeln!(text, "| N | contexts, R = 0 | R = 100 | methods, R = 0 | R = 100 | ×, R = 0 | R = 100 |")?;
        writeln!(text, "|---:|---:|---:|---:|---:|---:|---:|")?;
        for (every, row) in EVERY.iter().zip(rows) {
            let cells = row.map(|value| value.map_or_else(String::new, |value| format!("{value:.2}")));
            writeln!(text, "| {every} | {} |", cells.join(" | "))?;
        }
        Ok(())
    };
    let columns: [(u64, Measure); 6] = [
        (0, |_, at| at.overlap),
        (100, |_, at| at.overlap),
        (0, |_, at| at.overlap_methods),
        (100, |_, at| at.overlap_methods),
        (0, |all, at| at.wall / all.plain),
        (100, |all, at| at.wall / all.plain),
    ];
    let rows = EVERY.map(|n| columns.map(|(jitter, of)| mean(all, n, jitter, of)));
    table("Mean of all programs", rows.to_vec())?;
    for (name, program) in all {
        let at = |n: u64, jitter, of: Measure| {
            program.settings.iter().find(|at| (at.every, at.jitter) == (n, jitter)).map(|at| of(program, at))
        };
        let rows = EVERY.map(|n| columns.map(|(jitter, of)| at(n, jitter, of)));
        table(name, rows.to_vec())?;
    }
    writeln!(text, "\n## What was run\n")?;
    for (name, program) in all {
        writeln!(
            text,
            "- {name}: {} bytecodes in {} contexts, {} iterations; exact {:.2} times the plain time. {}",
            program.bytecodes,
            program.contexts,
            program.iterations,
            program.exact / program.plain,
            program.made.trim_end()
        )?;
    }
    Ok(text)
}

/// One profiler that samples CPU time.
#[derive(Serialize, Deserialize)]
struct Clocked {
    profiler: String,
    jdk: u32,
    made: String,
    /// Overlap with the known shares, in percent.
    shares: f64,
    samples: u64,
    /// Samples of the program's own threads that are in none of the methods.
    elsewhere: f64,
    failed_walks: u64,
    /// Times the plain CPU time of an iteration.
    cost: f64,
}

/// One program: CPU time against bytecodes.
#[derive(Serialize, Deserialize)]
struct Compared {
    program: String,
    jdk: u32,
    made: String,
    /// How long the profile is.
    seconds: f64,
    /// Percent of the CPU time that Java methods used themselves.
    java: f64,
    /// Overlap over methods with the exact profile, plain and weighted; of two runs with each other, over methods and
    /// contexts.
    exact: f64,
    corrected: f64,
    again_methods: f64,
    again_contexts: f64,
    samples: u64,
    failed_walks: u64,
    walks: u64,
}

/// Profiles of real programs are so long, and have so many samples a second.
const SECONDS: f64 = 30.0;
const RATE: &str = "100";

#[derive(Default, Serialize, Deserialize)]
struct CpuAccuracy {
    planted: Vec<Clocked>,
    programs: Vec<Compared>,
}

fn cpu(laboratory: &Laboratory, programs: &[String], no_shares: bool) -> anyhow::Result<()> {
    let file = laboratory.at("bench/results/accuracy-cpu.json");
    let mut all: CpuAccuracy = remembered(&file);
    let made = made(laboratory);
    if !no_shares {
        all.planted.retain(|it| it.jdk != laboratory.jdk.release);
        all.planted.extend(known_shares(laboratory, &made)?);
    }
    let weights = laboratory.calibrate()?;
    for text in programs {
        let (program, iterations) = chosen(laboratory, text)?;
        let compared = compare(laboratory, &program, iterations, &weights, &made)?;
        all.programs.retain(|it| (it.jdk, &it.program) != (compared.jdk, &compared.program));
        all.programs.push(compared);
        all.planted.sort_by_key(|it| it.jdk);
        all.programs.sort_by(|a, b| (a.jdk, &a.program).cmp(&(b.jdk, &b.program)));
        remember(&file, &all)?;
        fs::write(laboratory.at("docs/measurements/sampling-accuracy.md"), cpu_document(&all)?)?;
    }
    Ok(())
}

/// Profilers on the program with known shares.
fn known_shares(laboratory: &Laboratory, made: &str) -> anyhow::Result<Vec<Clocked>> {
    let release = laboratory.jdk.release;
    let mut all = Vec::new();
    let shares = Program::load(&laboratory.at("bench/accuracy/Shares.java"))?;
    let mut profilers =
        vec![laboratory.kind("cpu", &["--cpu", "100"]), laboratory.kind("cpu-1k", &["--cpu", "1000"])];
    let peers = Profiler::load_all(&laboratory.at("bench/peers"), Origin::Peer)?;
    let wanted = ["async-cpu", "async-cpu-1k", "jfr", "jfr-cpu", "jfr-cpu-1k"];
    profilers
        .extend(wanted.iter().filter_map(|name| peers.get(*name).cloned()).filter(|it| it.jdk <= release));
    const ITERATIONS: usize = 5;
    let plain = laboratory.run(&shares, &Profiler::plain(), ITERATIONS, &[])?;
    for profiler in &profilers {
        let outcome = laboratory.run(&shares, profiler, ITERATIONS, &[])?;
        let found = if profiler.origin == Origin::Kind {
            found_by_quipu(&outcome.profile()?)?
        } else {
            found_by_peer(laboratory, profiler, &outcome)?
        };
        let (weights, whole) = found;
        let inside: f64 = weights.values().sum();
        ensure!(inside > 0.0, "{} found none of the methods with known shares", profiler.name);
        let overlap: f64 =
            weights.iter().map(|(share, weight)| (weight / inside * 100.0).min(f64::from(*share))).sum();
        let clocked = Clocked {
            profiler: profiler.name.clone(),
            jdk: release,
            made: made.to_owned(),
            shares: overlap,
            samples: outcome.product.samples.unwrap_or(0),
            elsewhere: (1.0 - inside / whole) * 100.0,
            failed_walks: failed_walks(&outcome),
            cost: outcome.cpu / plain.cpu,
        };
        eprintln!("{}: {:.2} % of the known shares", clocked.profiler, clocked.shares);
        all.push(clocked);
    }
    Ok(all)
}

/// Profiles of a program by CPU time, beside exact ones.
fn compare(
    laboratory: &Laboratory,
    program: &Program,
    iterations: usize,
    weights: &str,
    made: &str,
) -> anyhow::Result<Compared> {
    let exact =
        laboratory.run(program, &laboratory.kind("exact", &["--exact"]), iterations, &[])?.profile()?;
    let weighted = laboratory.kind("weighted", &["--exact", "--weights", weights]);
    let weighted = laboratory.run(program, &weighted, iterations, &[])?.profile()?;
    let kind = laboratory.kind("cpu", &["--cpu", RATE]);
    // Iterations get faster as the program warms up: how many it takes is found out by trying.
    let mut enough = 4 * iterations;
    let (first, one, seconds) = loop {
        let first = laboratory.run(program, &kind, enough, &[])?;
        let one = first.profile()?;
        let seconds = one.samples().last().map_or(0.0, |last| last.time as f64 / 1e9);
        if seconds >= SECONDS {
            break (first, one, seconds);
        }
        enough += ((SECONDS - seconds) * 1.1e3 / first.wall).ceil() as usize;
    };
    let another = laboratory.run(program, &kind, enough, &[])?.profile()?;
    let (own, java) = own_shares(&one, "cpu")?;
    let walks = one.run.extra.iter().find(|(key, _)| key == "stack walks").context("no count of walks")?;
    let compared = Compared {
        program: program.name.clone(),
        jdk: laboratory.jdk.release,
        made: made.to_owned(),
        seconds,
        java: java * 100.0,
        exact: common(&own, &own_shares(&exact, "bytecodes")?.0),
        corrected: common(&own, &own_shares(&weighted, "bytecodes")?.0),
        again_methods: overlap(&one, &another, "cpu", On::Method, Matching::default())?,
        again_contexts: overlap(&one, &another, "cpu", On::Context, Matching::default())?,
        samples: first.product.samples.unwrap_or(0),
        failed_walks: failed_walks(&first),
        walks: walks.1.parse()?,
    };
    eprintln!("{}: {:.2} %, corrected {:.2} %", compared.program, compared.exact, compared.corrected);
    Ok(compared)
}
fn failed_walks(outcome: &Outcome) -> u64 {
    let lost = &outcome.product.lost;
    lost.iter().filter(|(cause, _)| cause.starts_with("walks")).map(|(_, n)| n).sum()
}

/// CPU time below each method that says its share, and that of the program's threads.
fn found_by_quipu(profile: &Profile) -> anyhow::Result<(BTreeMap<u32, f64>, f64)> {
    let metric = profile.metric("cpu").context("no CPU time in the profile")?;
    let totals = profile.totals_by_method(metric);
    let mut weights = BTreeMap::new();
    let mut whole = 0.0;
    for (id, method) in profile.methods().iter().enumerate() {
        let total = totals.total.get(id).copied().unwrap_or(0) as f64;
        if let Some(share) = share_in(profile.str(method.name)) {
            *weights.entry(share).or_insert(0.0) += total;
        } else if profile.str(method.name) == "all" {
            whole += total;
        }
    }
    Ok((weights, whole))
}

/// The same from a peer's file: stacks as text, one frame a word or a line.
fn found_by_peer(
    laboratory: &Laboratory,
    profiler: &Profiler,
    outcome: &Outcome,
) -> anyhow::Result<(BTreeMap<u32, f64>, f64)> {
    let file = std::path::PathBuf::from(format!("{}{}", outcome.out.display(), profiler.writes));
    let (mut weights, mut whole) = (BTreeMap::new(), 0.0);
    let mut add = |frame: &str, weight: f64| {
        if let Some(share) = share_in(frame) {
            *weights.entry(share).or_insert(0.0) += weight;
        } else if frame == "all" {
            whole += weight;
        }
    };
    if profiler.writes == ".collapsed" {
        for line in fs::read_to_string(file)?.lines() {
            let (stack, weight) = line.rsplit_once(' ').context("not a line of collapsed stacks")?;
            let weight: f64 = weight.parse()?;
            stack
                .split(';')
                .filter_map(|frame| frame.strip_prefix("bench/Shares."))
                .for_each(|it| add(it, weight));
        }
    } else {
        let mut jfr = std::process::Command::new(laboratory.jdk.tool("jfr"));
        jfr.args(["print", "--stack-depth", "64", "--events", "jdk.ExecutionSample,jdk.CPUTimeSample"]);
        let text = String::from_utf8(jfr.arg(file).output()?.stdout)?;
        for line in text.lines() {
            let frame = line.trim().strip_prefix("bench.Shares.").and_then(|it| it.split('(').next());
            frame.into_iter().for_each(|it| add(it, 1.0));
        }
    }
    Ok((weights, whole))
}

/// The number in `share40`.
fn share_in(method: &str) -> Option<u32> {
    method.strip_prefix("share")?.parse().ok()
}

/// What each Java method has of its own, as a share of what all of them have; and what part of everything that is.
/// Functions of the machine, native methods and threads of the VM have no bytecodes to compare with.
fn own_shares(profile: &Profile, metric: &str) -> anyhow::Result<(BTreeMap<String, f64>, f64)> {
    let metric = profile.metric(metric).with_context(|| format!("no {metric} in the profile"))?;
    let totals = profile.totals_by_method(metric);
    let mut shares = BTreeMap::new();
    let (mut whole, mut everything) = (0.0, 0.0);
    for (id, method) in profile.methods().iter().enumerate() {
        let own = totals.own.get(id).copied().unwrap_or(0) as f64;
        everything += own;
        let has_bytecodes =
            [MethodFlags::FOREIGN, MethodFlags::NATIVE].iter().all(|&it| !method.flags.contains(it));
        if own > 0.0 && has_bytecodes {
            let name = format!("{}.{}", profile.str(method.class), profile.str(method.name));
            *shares.entry(name).or_insert(0.0) += own;
            whole += own;
        }
    }
    ensure!(whole > 0.0, "no Java method has any");
    shares.values_mut().for_each(|share| *share /= whole);
    Ok((shares, whole / everything))
}

/// Overlap of two distributions, in percent.
fn common(a: &BTreeMap<String, f64>, b: &BTreeMap<String, f64>) -> f64 {
    a.iter().filter_map(|(name, share)| b.get(name).map(|other| share.min(*other))).sum::<f64>() * 100.0
}

fn cpu_document(all: &CpuAccuracy) -> anyhow::Result<String> {
    let mut text = String::from(
        "# Accuracy of samples of CPU time\n\n\
         `cargo run -p quipu-bench --bin accuracy -- cpu --jdk 17` (and 25); what was run is said at the end.\n\n## Known shares\n\n\
         Two threads use CPU time in five methods, 40, 30, 15, 10 and 5 percent of it (`bench/accuracy/Shares.java`). Overlap of what \
         a profiler found with these shares; what it found in those threads but in none of the five methods (or could not walk); \
         CPU time of an iteration, as a multiple of the plain one's, one run each.\n\n\
         | JDK | profiler | samples | overlap % | elsewhere % | failed walks | CPU × |\n|---|---|---:|---:|---:|---:|---:|\n",
    );
    for it in &all.planted {
        writeln!(
            text,
            "| {} | {} | {} | {:.2} | {:.2} | {} | {:.2} |",
            it.jdk, it.profiler, it.samples, it.shares, it.elsewhere, it.failed_walks, it.cost
        )?;
    }
    writeln!(
        text,
        "\n## Real programs\n\n\
         Profiles of {SECONDS} seconds, {RATE} samples a second of CPU time. *In Java*: CPU time that Java methods used themselves; the rest \
         is the VM's, the kernel's and that of native methods, which have no bytecodes. Of the Java methods' part, the overlap over \
         methods with the exact profile: with executed bytecodes, and *corrected*, with each counted with the weight that \
         `quipu calibrate` found on this machine ([weights.md](weights.md)). Those are weights of the interpreter, and what the \
         compilers make of a method is in neither; so this says how far work is from time, not how wrong samples are. That \
         is what two such profiles say of each other, over methods and contexts.\n\n\
         | JDK | program | seconds | samples | in Java % | overlap with exact % | with corrected % | two runs, methods % | two runs, contexts % | failed walks |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    )?;
    for it in &all.programs {
        writeln!(
            text,
            "| {} | {} | {:.1} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {} of {} ({:.2} %) |",
            it.jdk,
            it.program,
            it.seconds,
            it.samples,
            it.java,
            it.exact,
            it.corrected,
            it.again_methods,
            it.again_contexts,
            it.failed_walks,
            it.walks,
            it.failed_walks as f64 / it.walks.max(1) as f64 * 100.0,
        )?;
    }
    let all_made = all.planted.iter().map(|it| &it.made).chain(all.programs.iter().map(|it| &it.made));
    for made in all_made.collect::<std::collections::BTreeSet<_>>() {
        writeln!(text, "\n{}", made.trim_end())?;
    }
    Ok(text)
}
