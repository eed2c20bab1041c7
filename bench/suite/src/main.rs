//! `./quipu bench`: the benchmark suite's command line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Parser;

use quipu_bench::history::History;
use quipu_bench::jdk::Jdk;
use quipu_bench::launch::Launch;
use quipu_bench::plan::{self, Choice, Limit};
use quipu_bench::profiler::{Origin, Profiler};
use quipu_bench::program::Program;
use quipu_bench::progress::Progress;
use quipu_bench::report;
use quipu_bench::results::{self, Setting};
use quipu_bench::schedule::{Contender, Schedule};
use quipu_bench::summary::Row;
use quipu_bench::workshop::Workshop;

/// Run programs plain and profiled, in turns, and compare.
#[derive(Parser, Debug)]
#[command(
    name = "quipu bench",
    after_help = "\
Examples:
  ./quipu bench --list
  ./quipu bench micro javac h2 jython --kind exact --rounds 3 --jdk 17
  ./quipu bench h2 --kind exact --try 'sites=--exact --sites'
  ./quipu bench javac --kind exact --build before=../old/target/release
  ./quipu bench h2 --kind exact --attach 20 --steady
  ./quipu bench --quick
  ./quipu bench --all --jdk all --minutes 22 --publish full"
)]
struct Options {
    /// Programs, or groups of them by the part before the hyphen: micro, h2 [default: all]
    programs: Vec<String>,

    /// A kind of Quipu (bench/kinds); repeatable [default: exact]
    #[arg(long = "kind", value_name = "NAME")]
    kinds: Vec<String>,

    /// A kind made of options of `quipu run`; repeatable
    #[arg(long = "try", value_name = "LABEL=OPTIONS")]
    tries: Vec<String>,

    /// Another profiler (bench/peers); repeatable
    #[arg(long = "peer", value_name = "NAME")]
    peers: Vec<String>,

    /// All programs, kinds and peers
    #[arg(long)]
    all: bool,

    /// Another build of Quipu: every kind runs with it too; repeatable
    #[arg(long = "build", value_name = "LABEL=DIRECTORY")]
    builds: Vec<String>,

    /// A JDK by release (17, 25) or directory, or `all`; repeatable [default: the oldest from 17 on]
    #[arg(long = "jdk", value_name = "JDK")]
    jdks: Vec<String>,

    /// Every kind attached, too, to a program that has run for so long
    #[arg(long, value_name = "SECONDS")]
    attach: Option<u64>,

    /// Wait until the JIT compiler takes less than 4 % of the CPU time, also with --minutes and --quick
    #[arg(long)]
    steady: bool,

    /// How often plain and profiled runs take turns
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,

    /// Within ten minutes on two cores: few programs, rounds and iterations
    #[arg(long)]
    quick: bool,

    /// As many programs, profilers and rounds as fit into this time; programs run as long as with --quick
    #[arg(long, value_name = "N", conflicts_with = "rounds")]
    minutes: Option<u64>,

    /// Fetch and compile what is needed, then stop
    #[arg(long)]
    prepare: bool,

    /// Only say what would be run and how long that would take
    #[arg(long)]
    dry_run: bool,

    /// Stop a run that takes this many times as long as the plain one [default: 30; 8 with --quick or --minutes]
    #[arg(long, value_name = "N")]
    patience: Option<u32>,

    /// Write JSON to bench/results and the tables to the section NAME of docs/performance.md; `full` also to README.md
    #[arg(long, value_name = "NAME")]
    publish: Option<String>,

    /// Write JSON here
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Say what every single run took
    #[arg(short, long)]
    verbose: bool,

    /// Show programs, kinds and peers
    #[arg(long)]
    list: bool,

    /// The directory with programs, kinds and peers
    #[arg(long, value_name = "DIRECTORY", default_value = "bench", hide = true)]
    sources: PathBuf,
}

/// What `--quick` runs where nothing else is asked for.
const QUICK: [&str; 7] =
    ["micro-static", "micro-virtual", "micro-fib", "micro-exceptions", "javac", "h2-oltp", "jython"];

fn main() -> ExitCode {
    match bench(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("quipu bench: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// False if a program did not do its work under Quipu.
fn bench(options: &Options) -> anyhow::Result<bool> {
    let root = std::env::current_dir()?;
    let workshop = Workshop { sources: root.join(&options.sources), made: root.join("target/bench") };
    let programs = Program::load_all(&workshop.sources.join("programs"))?;
    let kinds = Profiler::load_all(&workshop.sources.join("kinds"), Origin::Kind)?;
    let peers = Profiler::load_all(&workshop.sources.join("peers"), Origin::Peer)?;
    if options.list {
        list(&programs, &kinds, &peers);
        return Ok(true);
    }
    let programs = chosen_programs(options, programs)?;
    let contenders = contenders(options, &kinds, &peers, &workshop, &root)?;
    let jdks = Jdk::wanted(&options.jdks)?;
    let command =
        std::iter::once("./quipu bench".to_owned()).chain(std::env::args().skip(1)).collect::<Vec<_>>();
    let setting = Setting::here(&root, &jdks, command.join(" "));
    let json = match (&options.json, &options.publish) {
        (Some(path), _) => path.clone(),
        (None, Some(name)) => results::json_path(&workshop.sources, &setting, name),
        (None, None) => workshop.made.join("last.json"),
    };
    let quick = (options.quick || options.minutes.is_some()) && !options.steady;
    let history = History::load(&workshop.sources.join("results"), &workshop.made.join("last.json"));
    let limit = Limit {
        patience: options.patience.unwrap_or(if quick { 8 } else { 30 }),
        least: Duration::from_secs(if quick { 30 } else { 60 }),
    };
    let choice =
        Choice { limit, jdks: &jdks, programs: &programs, contenders: &contenders, quick, history: &history };
    let plan = match options.minutes {
        Some(minutes) => choice.within(Duration::from_secs(minutes * 60)),
        None => choice.all(options.rounds.unwrap_or(if quick { 3 } else { 5 })),
    };
    let expected = choice.expected(&plan);
    eprintln!(
        "quipu bench: {} runs: {} programs, {} profilers, {} rounds, JDK {}; about {:.0} minutes{}",
        plan.runs(),
        programs.len(),
        contenders.len() - 1,
        plan.rounds,
        jdks.iter().map(|jdk| jdk.release.to_string()).collect::<Vec<_>>().join(" and "),
        (expected / 60.0).ceil(),
        match plan.left_out {
            0 => String::new(),
            n => format!("; no time for {n} programs under profilers"),
        }
    );
    if options.prepare {
        for group in &choice.all(1).groups {
            for &at in &group.contenders {
                let (profiler, quipu) = &contenders[at];
                let what = (&programs[group.program], profiler, &jdks[group.jdk]);
                Launch::prepare(&workshop, what, quipu, &workshop.made.join("prepared"))?;
            }
        }
    }
    if options.dry_run {
        for group in &plan.groups {
            let names: Vec<&str> =
                group.contenders.iter().map(|&at| contenders[at].0.name.as_str()).collect();
            println!(
                "{:>6.0} s  JDK {}  {:<18} {}",
                choice.expected_of(group, plan.rounds),
                jdks[group.jdk].release,
                programs[group.program].name,
                names.join(" ")
            );
        }
    }
    if options.dry_run || options.prepare {
        remove_copies(&contenders);
        return Ok(true);
    }
    let mut progress = Progress::new(history.clone(), expected, options.verbose);
    let begun = Instant::now();
    let mut still = expected;
    let (mut rows, mut records) = (Vec::new(), Vec::new());
    for group in &plan.groups {
        let (program, jdk) = (&programs[group.program], &jdks[group.jdk]);
        let able: Vec<Contender> = group.contenders.iter().map(|&at| contenders[at].clone()).collect();
        let left = options.minutes.map(|it| it as f64 * 60.0 - begun.elapsed().as_secs_f64());
        let schedule = Schedule {
            workshop: &workshop,
            rounds: plan::rounds_in_time(plan.rounds, still, left),
            quick,
            limit,
        };
        still -= choice.expected_of(group, plan.rounds);
        let its = schedule.program((program, jdk), &able, &mut progress)?;
        let split = program.split(quick);
        let measured = if able.len() > 1 { &able[1..] } else { &able[..] };
        rows.extend(measured.iter().map(|(profiler, _)| Row::of(&its, profiler, split)));
        records.extend(its);
        // After every program, so that a run that is interrupted leaves what it has.
        results::write_json(&json, &setting, &rows, &records)?;
    }
    progress.finish();
    for jdk in &jdks {
        let its: Vec<Row> = rows.iter().filter(|row| row.jdk == jdk.release).cloned().collect();
        println!("JDK {}, {} rounds, load at the start {:.1}", jdk.version, plan.rounds, setting.load);
        print!("{}", report::table(&its).text());
        report::notes(&its).iter().for_each(|note| println!("- {note}"));
    }
    if let Some(name) = &options.publish {
        results::replace_section(
            &root.join("docs/performance.md"),
            name,
            &results::markdown(&setting, &rows),
        )?;
        if name == "full" {
            results::replace_section(
                &root.join("README.md"),
                name,
                &results::short_markdown(&setting, &rows),
            )?;
        }
    }
    eprintln!("quipu bench: wrote {}", json.display());
    remove_copies(&contenders);
    let is_peer = |name: &str| contenders.iter().any(|(it, _)| it.name == name && it.origin == Origin::Peer);
    // What a peer cannot do is a result. Work that was not done, or not done under Quipu, is a failure.
    let failed: Vec<_> =
        records.iter().filter(|it| it.wrong.is_some() || !it.is_good() && !is_peer(&it.profiler)).collect();
    for record in &failed {
        let wrong = record.wrong.as_ref().map(|wrong| format!(": WRONG OUTPUT: {wrong}")).unwrap_or_default();
        eprintln!(
            "quipu bench: FAILED: {} under {} on JDK {}{wrong}",
            record.program, record.profiler, record.jdk
        );
    }
    Ok(failed.is_empty())
}

/// The builds under test were copied for this run only.
fn remove_copies(contenders: &[Contender]) {
    for (_, quipu) in contenders {
        let _ = quipu.parent().map(std::fs::remove_dir_all);
    }
}

fn chosen_programs(options: &Options, all: BTreeMap<String, Program>) -> anyhow::Result<Vec<Program>> {
    let mut words: Vec<&str> = options.programs.iter().map(String::as_str).collect();
    if words.is_empty() && options.quick && !options.all {
        words = QUICK.to_vec();
    }
    for word in &words {
        if !all.values().any(|program| program.is_called(word)) {
            bail!(
                "there is no program {word}; there are: {}",
                all.keys().cloned().collect::<Vec<_>>().join(", ")
            );
        }
    }
    Ok(all
        .into_values()
        .filter(|it| words.is_empty() || words.iter().any(|word| it.is_called(word)))
        .collect())
}

/// Plain, then kinds with every build, then peers.
fn contenders(
    options: &Options,
    kinds: &BTreeMap<String, Profiler>,
    peers: &BTreeMap<String, Profiler>,
    workshop: &Workshop,
    root: &Path,
) -> anyhow::Result<Vec<Contender>> {
    let mut chosen: Vec<Profiler> = Vec::new();
    if options.all {
        chosen.extend(kinds.values().cloned());
    } else {
        let default = ["exact".to_owned()];
        let nothing_asked = options.kinds.is_empty() && options.tries.is_empty() && options.peers.is_empty();
        for name in if nothing_asked { &default } else { options.kinds.as_slice() } {
            chosen.push(known(kinds, name, "kind")?);
        }
    }
    for text in &options.tries {
        chosen.push(Profiler::from_words(text)?);
    }
    if let Some(seconds) = options.attach {
        let attached: Vec<_> =
            chosen.iter().map(|kind| kind.attached(Duration::from_secs(seconds))).collect();
        chosen.extend(attached);
    }
    let mut contenders = vec![(Profiler::plain(), PathBuf::new())];
    if !chosen.is_empty() {
        let ours = workshop.build("this", &root.join("target/release"))?;
        contenders.extend(chosen.iter().map(|kind| (kind.clone(), ours.clone())));
        for text in &options.builds {
            let (label, directory) =
                text.split_once('=').with_context(|| format!("`{text}` is not LABEL=DIRECTORY"))?;
            let quipu = workshop.build(label, Path::new(directory))?;
            for kind in &chosen {
                let kind = Profiler { name: format!("{}@{label}", kind.name), ..kind.clone() };
                contenders.push((kind, quipu.clone()));
            }
        }
    }
    if options.all {
        contenders.extend(peers.values().map(|peer| (peer.clone(), PathBuf::new())));
    } else {
        for name in &options.peers {
            contenders.push((known(peers, name, "peer")?, PathBuf::new()));
        }
    }
    Ok(contenders)
}

fn known(all: &BTreeMap<String, Profiler>, name: &str, what: &str) -> anyhow::Result<Profiler> {
    all.get(name).cloned().with_context(|| {
        format!(
            "there is no {what} {name}; there are: {}",
            all.keys().cloned().collect::<Vec<_>>().join(", ")
        )
    })
}

fn list(
    programs: &BTreeMap<String, Program>,
    kinds: &BTreeMap<String, Profiler>,
    peers: &BTreeMap<String, Profiler>,
) {
    println!("programs");
    for program in programs.values() {
        println!("  {:<20} {}", program.name, program.about);
    }
    for (title, profilers) in [("kinds", kinds), ("peers", peers)] {
        println!("{title}");
        for profiler in profilers.values() {
            println!("  {:<20} {}", profiler.name, profiler.about);
        }
    }
}
