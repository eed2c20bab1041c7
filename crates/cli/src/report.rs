//! `quipu report`, `diff`, `overlap` and `merge`: looking at profiles.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use quipu_profile::{By as DiffBy, Matching, On, Profile};
use quipu_report::{By, DiffOptions, Options, Style};

use crate::collect::load;
use crate::exit::{DONE, Failure, GATE};
use crate::narrow::{Narrow, percent};
use crate::progress;

/// Show a profile.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  quipu report profile.quipu                                 the calling context tree, hot path open
  quipu report profile.quipu --by method --thread main       hottest methods of the main thread
  quipu report profile.quipu --by callers --filter HashMap.get
  quipu report profile.quipu --by class --metric bytecodes/calls
  quipu report profile.quipu --java --hide 'java.lang.reflect.*' --exclude-threads 'ForkJoinPool*'
  quipu report profile.quipu --by line                       where samples were, or blocks that were counted
  quipu report profile.quipu --by site --metric alloc.bytes  instructions that make objects, with the class
  quipu report profile.quipu --by leak                       what grows, and who makes it (--live)
  quipu report profile.quipu --by root                       how long executions of roots took, with percentiles (--root)
  quipu report profile.quipu --label request=/search         what was done on behalf of it
  quipu report profile.quipu --by label                      how much was done on behalf of whom
  quipu report profile.quipu --from 10s --to 20s             what was sampled in these ten seconds
  quipu report profile.quipu --by tree --json                every context, for programs
  quipu report 4711 --by method                              of a JVM that is being profiled: what there is so far")]
pub struct Report {
    /// A .quipu file, or the .arena file of a target that was killed or had no agent; or the process id of a JVM that is being
    /// profiled, which goes on
    file: PathBuf,

    /// What the rows are
    #[arg(long, value_name = "WHAT", default_value = "tree",
          value_parser = PossibleValuesParser::new(By::ALL.map(By::as_str)))]
    by: String,

    /// Metrics to show, the first to rank by: `bytecodes`, `calls,bytecodes`, or a ratio `bytecodes/calls`. If absent, text
    /// has the main one and JSON has all
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,

    #[command(flatten)]
    narrow: Narrow,

    /// Only rows with at least this part of the whole
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    min: Option<u32>,

    /// Only samples from this moment on, counted from the beginning: 10s, 2.5s, 400ms
    #[arg(long, value_name = "TIME", value_parser = moment)]
    from: Option<Duration>,

    /// Only samples before this moment
    #[arg(long, value_name = "TIME", value_parser = moment)]
    to: Option<Duration>,

    /// Only methods, classes or packages whose name contains this, or matches it if it has a `*`
    #[arg(long, value_name = "PATTERN")]
    filter: Option<String>,

    /// At most so many rows
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// For programs: one JSON object with flat rows
    #[arg(long)]
    json: bool,
}

impl Report {
    /// Prints the report.
    pub fn run(self) -> anyhow::Result<u8> {
        let mut profile = load(&self.file)?;
        if self.from.is_some() || self.to.is_some() {
            profile = between(&profile, self.from, self.to)?;
        }
        let options = Options {
            by: self.by.parse().map_err(Failure::usage)?,
            metric: self.metric,
            narrowing: self.narrow.into(),
            filter: self.filter,
            limit: self.limit,
            min: self.min,
        };
        let mut out = io::BufWriter::new(io::stdout().lock());
        if self.json {
            quipu_report::write_json(&profile, &options, &mut out).map_err(Failure::usage)?;
        } else {
            let text = progress::during("adding up", || quipu_report::text(&profile, &options, &style()));
            let text = text.map_err(Failure::usage)?;
            out.write_all(text.as_bytes())?;
        }
        out.flush()?;
        Ok(DONE)
    }
}

/// The part of a profile that was sampled in a stretch of time.
fn between(profile: &Profile, from: Option<Duration>, to: Option<Duration>) -> anyhow::Result<Profile> {
    if profile.samples().is_empty() {
        return Err(Failure::usage(
            "it has no samples: only --cpu and --wall keep the time of what they saw",
        ));
    }
    let nanos = |moment: Duration| u64::try_from(moment.as_nanos()).unwrap_or(u64::MAX);
    Ok(profile.select_time(from.map_or(0, nanos)..to.map_or(u64::MAX, nanos)))
}

/// A moment: `10s`, `2.5s`, `400ms`, or a number of seconds.
fn moment(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1e-3),
        None => (text.strip_suffix('s').unwrap_or(text), 1.0),
    };
    let number: Option<f64> = number.parse().ok();
    let moment = number.and_then(|number| Duration::try_from_secs_f64(number * unit).ok());
    moment.ok_or_else(|| "must be a time like 10s or 400ms".to_owned())
}

/// What the terminal can show; plain text in a pipe.
pub fn style() -> Style {
    if !io::stdout().is_terminal() {
        return Style::default();
    }
    let utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .is_some_and(|value| value.to_ascii_lowercase().replace('-', "").contains("utf8"));
    let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    Style { colour: std::env::var_os("NO_COLOR").is_none(), unicode: utf8, width }
}

/// Tell what changed between two profiles.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  quipu diff before.quipu after.quipu
  quipu diff before.quipu after.quipu --by class --metric calls --json
  quipu diff --exact-bytes first.quipu second.quipu    two runs of `--deterministic`: exit 0 if they are the same")]
pub struct Diff {
    /// The profile to compare with
    before: PathBuf,
    /// The profile that may have changed
    after: PathBuf,
    /// What the rows are
    #[arg(long, value_enum, default_value_t = DiffRows::Method)]
    by: DiffRows,
    /// Metric to compare
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,
    /// Only names that contain this, or match it if it has a `*`
    #[arg(long, value_name = "PATTERN")]
    filter: Option<String>,
    /// At most so many rows
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// For programs
    #[arg(long)]
    json: bool,
    /// Only tell whether what was measured is the same, byte for byte: all sections but META and RUN, which hold commands, times
    /// and process ids. Exit status 1 if it is not
    #[arg(long, conflicts_with_all = ["by", "metric", "filter", "limit", "json"])]
    exact_bytes: bool,
}

fn exact_bytes(before: &Profile, after: &Profile) -> anyhow::Result<u8> {
    match progress::during("comparing", || before.differing_section(after)) {
        None => print("the same: all sections but META and RUN\n"),
        Some(section) => {
            print(&format!("not the same: the first section that differs is {section}\n"))?;
            Ok(GATE)
        }
    }
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum DiffRows {
    Method,
    Class,
    Package,
    Module,
}

impl Diff {
    /// Prints what changed.
    pub fn run(self) -> anyhow::Result<u8> {
        let (before, after) = (load(&self.before)?, load(&self.after)?);
        if self.exact_bytes {
            return exact_bytes(&before, &after);
        }
        let by = match self.by {
            DiffRows::Method => DiffBy::Method,
            DiffRows::Class => DiffBy::Class,
            DiffRows::Package => DiffBy::Package,
            DiffRows::Module => DiffBy::Module,
        };
        let options = DiffOptions {
            by,
            metric: self.metric,
            filter: self.filter,
            limit: self.limit,
            ..DiffOptions::default()
        };
        let text = progress::during("comparing", || match self.json {
            true => quipu_report::diff_json(&before, &after, &options),
            false => quipu_report::diff_text(&before, &after, &options, &style()),
        });
        print(&text.map_err(Failure::usage)?)
    }
}

/// Tell how much of two profiles is the same: the sum over keys of the smaller share, in percent.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  quipu overlap sampled.quipu exact.quipu --on context
  quipu overlap a.quipu b.quipu --on method --metric calls --json")]
pub struct Overlap {
    /// One profile
    a: PathBuf,
    /// The other
    b: PathBuf,
    /// Over what
    #[arg(long, value_enum, default_value_t = OverlapOn::Context)]
    on: OverlapOn,
    /// Metric to compare
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,
    /// For programs
    #[arg(long)]
    json: bool,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum OverlapOn {
    Context,
    Edge,
    Method,
    Class,
}

impl Overlap {
    /// Prints the overlap.
    pub fn run(self) -> anyhow::Result<u8> {
        let (a, b) = (load(&self.a)?, load(&self.b)?);
        let on = match self.on {
            OverlapOn::Context => On::Context,
            OverlapOn::Edge => On::Edge,
            OverlapOn::Method => On::Method,
            OverlapOn::Class => On::Class,
        };
        let report = if self.json { quipu_report::overlap_json } else { quipu_report::overlap_text };
        let text =
            progress::during("comparing", || report(&a, &b, on, self.metric.as_deref(), Matching::default()));
        print(&text.map_err(Failure::usage)?)
    }
}

/// Add profiles up into one.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  quipu merge node1.quipu node2.quipu -o all.quipu")]
pub struct Merge {
    /// The profiles
    #[arg(required = true, num_args = 1..)]
    files: Vec<PathBuf>,
    /// Where to write the sum
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl Merge {
    /// Writes the sum.
    pub fn run(self) -> anyhow::Result<u8> {
        let profiles = self.files.iter().map(|file| load(file)).collect::<Result<Vec<_>, _>>()?;
        let parts: Vec<&Profile> = profiles.iter().collect();
        let merged = progress::during("adding profiles up", || Profile::merge(&parts));
        let merged = merged.map_err(Failure::usage)?;
        crate::run::save(&merged, &self.output)?;
        Ok(DONE)
    }
}

fn print(text: &str) -> anyhow::Result<u8> {
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(DONE)
}
