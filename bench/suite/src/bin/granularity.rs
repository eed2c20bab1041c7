//! Accuracy and cost of samples every N bytecodes, for many N, with and without jitter: figure 9 of Binder's paper.
//!
//! Each program runs exactly once per setting, because the samples are the same every time. The cost is the CPU time of
//! the whole command, start and compilation included; steady states are the suite's business (`--kind bytecodes`).

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use clap::Parser;
use quipu_profile::{Matching, On, Profile, overlap};
use wait4::Wait4;

/// Accuracy and cost of samples every N bytecodes.
#[derive(Parser)]
#[command(after_help = "\
Example:
  cargo run -p quipu-bench --bin granularity -- --classes target/classes Hot:400 Json:2000")]
struct Options {
    /// Programs: main class and arguments, with colons between them
    #[arg(required = true, value_name = "MAIN:ARGUMENT…")]
    programs: Vec<String>,
    /// Where their classes are
    #[arg(long, value_name = "DIRECTORY")]
    classes: PathBuf,
    /// The build of Quipu
    #[arg(long, value_name = "FILE", default_value = "target/release/quipu")]
    quipu: PathBuf,
    /// The JVM
    #[arg(long, value_name = "FILE", default_value = "java")]
    java: PathBuf,
    /// Where the table goes
    #[arg(long, value_name = "FILE", default_value = "docs/bytecode-sampling-accuracy.md")]
    table: PathBuf,
    /// Where the plot goes
    #[arg(long, value_name = "FILE", default_value = "docs/bytecode-sampling-accuracy.svg")]
    plot: PathBuf,
}

const EVERY: [u64; 8] = [500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000];
const JITTERS: [u64; 2] = [0, 100];

/// What one setting gave, summed up over the programs.
#[derive(Default)]
struct Outcome {
    overlap: f64,
    cost: f64,
    samples: u64,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let mut sums: Vec<Outcome> = EVERY.iter().flat_map(|_| JITTERS.map(|_| Outcome::default())).collect();
    let mut programs = String::new();
    for program in &options.programs {
        let words: Vec<&str> = program.split(':').collect();
        let (_, plain) = options.run(None, &words)?;
        let (exact, exact_cost) = options.run(Some(&["--exact"]), &words)?;
        let exact = exact.context("an exact profile")?;
        let total = exact.metric("bytecodes").context("bytecodes")?.total();
        writeln!(
            programs,
            "- `{}`: {total} bytecodes, {} contexts; exact costs {:.2} times",
            words.join(" "),
            exact.tree().len(),
            exact_cost / plain
        )?;
        let settings = EVERY.iter().flat_map(|n| JITTERS.map(|r| (n, r)));
        for ((every, jitter), sum) in settings.zip(&mut sums) {
            let (n, r) = (every.to_string(), jitter.to_string());
            let (sampled, cost) =
                options.run(Some(&["--bytecodes", &n, "--jitter", &r, "--seed", "1"]), &words)?;
            let sampled = sampled.context("a sampled profile")?;
            sum.overlap += overlap(&sampled, &exact, "bytecodes", On::Context, Matching::default())?;
            sum.cost += cost / plain;
            sum.samples += sampled.metric("samples.bytecodes").context("samples")?.total();
            eprintln!("{program} every {n} + {r}: {:.2} % so far", sum.overlap);
        }
    }
    let n = options.programs.len() as f64;
    let mut table = String::from(
        "| N | samples | overlap, R = 0 | R = 100 | CPU ×, R = 0 | R = 100 |\n|---|---|---|---|---|---|\n",
    );
    for (every, pair) in EVERY.iter().zip(sums.chunks(JITTERS.len())) {
        let [without, with] = pair else { continue };
        writeln!(
            table,
            "| {every} | {} | {:.2} % | {:.2} % | {:.2} | {:.2} |",
            with.samples,
            without.overlap / n,
            with.overlap / n,
            without.cost / n,
            with.cost / n
        )?;
    }
    let head = "Overlap with the exact profile over contexts, and CPU time of the whole command in multiples of a plain \
                run, on average over these programs:";
    fs::write(&options.table, format!("{head}\n\n{programs}\n{table}"))?;
    let line = |jitter: usize| -> Vec<f64> {
        sums.chunks(JITTERS.len()).filter_map(|pair| pair.get(jitter)).map(|sum| sum.overlap / n).collect()
    };
    fs::write(&options.plot, plot(&[("R = 0", line(0)), ("R = 100", line(1))]))?;
    println!("{programs}\n{table}");
    Ok(())
}

impl Options {
    /// Runs a program under Quipu, or plain; the profile, and the CPU seconds of the command.
    fn run(&self, quipu: Option<&[&str]>, words: &[&str]) -> anyhow::Result<(Option<Profile>, f64)> {
        let file = std::env::temp_dir().join(format!("granularity-{}.quipu", std::process::id()));
        let mut command = match quipu {
            Some(options) => {
                let mut command = Command::new(&self.quipu);
                command.arg("run").args(options).arg("--deterministic").arg("-o").arg(&file).arg("--");
                command.arg(&self.java);
                command
            }
            None => Command::new(&self.java),
        };
        command.arg("-cp").arg(&self.classes).args(words);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let used = child.wait4()?;
        ensure!(used.status.success(), "{} failed: {:?}", words.join(" "), quipu);
        let cpu = (used.rusage.utime + used.rusage.stime).as_secs_f64();
        let profile = quipu.map(|_| load(&file)).transpose()?;
        Ok((profile, cpu))
    }
}

fn load(file: &Path) -> anyhow::Result<Profile> {
    let profile = Profile::load(file)?;
    fs::remove_file(file)?;
    Ok(profile)
}

/// Overlap over N, both lines in one picture.
fn plot(lines: &[(&str, Vec<f64>)]) -> String {
    const COLOURS: [&str; 2] = ["#c03030", "#2060c0"];
    let all = lines.iter().flat_map(|(_, line)| line);
    let lowest = all.fold(100.0_f64, |low, &value| low.min(value));
    let bottom = (lowest / 10.0).floor() * 10.0;
    let (first, last) = (EVERY[0] as f64, EVERY[EVERY.len() - 1] as f64);
    let x = |every: u64| 60.0 + 560.0 * (every as f64 / first).log10() / (last / first).log10();
    let y = |overlap: f64| 30.0 + 260.0 * (100.0 - overlap) / (100.0 - bottom);
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"660\" height=\"350\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"660\" height=\"350\" fill=\"white\"/>\n",
    );
    let mut add = |text: String| {
        svg.push_str(&text);
        svg.push('\n');
    };
    let mut percent = bottom;
    while percent <= 100.0 {
        let at = y(percent);
        add(format!("<path d=\"M60 {at:.1}H620\" stroke=\"#ddd\"/>"));
        add(format!("<text x=\"52\" y=\"{:.1}\" text-anchor=\"end\">{percent} %</text>", at + 4.0));
        percent += 10.0;
    }
    for every in EVERY {
        add(format!("<text x=\"{:.1}\" y=\"308\" text-anchor=\"middle\">{every}</text>", x(every)));
    }
    add("<text x=\"340\" y=\"332\" text-anchor=\"middle\">bytecodes between samples (N)</text>".to_owned());
    add("<text x=\"60\" y=\"18\">overlap with the exact profile, over contexts</text>".to_owned());
    for (i, ((name, line), colour)) in lines.iter().zip(COLOURS).enumerate() {
        let points: Vec<String> = EVERY
            .iter()
            .zip(line)
            .map(|(&every, &value)| format!("{:.1},{:.1}", x(every), y(value)))
            .collect();
        add(format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        ));
        let at = 18 + 16 * i;
        add(format!("<text x=\"620\" y=\"{at}\" text-anchor=\"end\" fill=\"{colour}\">{name}</text>"));
    }
    svg + "</svg>\n"
}
