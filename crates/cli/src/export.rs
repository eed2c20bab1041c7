//! `quipu export` and `quipu import`: other tools' formats.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, IsTerminal, Read, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use quipu_formats::{Format, Limits, Options, import};

use crate::collect::load;
use crate::exit::{DONE, Failure};
use crate::narrow::{Narrow, percent};
use crate::output;
use crate::progress;

/// Write a profile in another tool's format.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  quipu export profile.quipu --to html -o profile.html        one page, opens in any browser
  quipu export profile.quipu --to pprof -o profile.pb.gz      then: pprof -top profile.pb.gz
  quipu export profile.quipu --to collapsed --metric calls | flamegraph.pl > calls.svg
  quipu export profile.quipu --to callgrind -o callgrind.out  then: kcachegrind callgrind.out
  quipu export profile.quipu --to directives -o hot.json      then: quipu ctl PID directives hot.json")]
pub struct Export {
    /// A .quipu file, or the .arena file of a target that was killed
    file: PathBuf,

    /// The format
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(Format::ALL.map(Format::name)))]
    to: String,

    /// Where to write; standard output if absent
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Metric to export, for formats with room for one
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,

    #[command(flatten)]
    narrow: Narrow,

    /// Fold contexts with less than this part of the whole into their callers
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    min: Option<u32>,

    /// Collapsed stacks: all of them, whatever their size; otherwise the smallest contexts are folded into their callers
    /// where the file would be larger than 100 MB
    #[arg(long)]
    whole: bool,
}

impl Export {
    /// Writes the export.
    pub fn run(self) -> anyhow::Result<u8> {
        if let Some(path) = &self.output {
            output::check(path)?;
        }
        let format = Format::from_name(&self.to).with_context(|| format!("no format {}", self.to))?;
        let mut options = Options { metric: self.metric, ..Options::default() };
        if self.whole {
            options.max_bytes = None;
        }
        let profile = self.narrow.of(&load(&self.file)?, &options, self.min)?;
        output::tell_pruned(&profile, format, &options, "--whole writes them, --min says what is too small")?;
        let write = |out: &mut dyn Write| output::export(&profile, format, &options, out);
        match &self.output {
            Some(path) => {
                progress::during(format!("writing {}", path.display()), || output::write(path, write))?;
                eprintln!("quipu: wrote {}", path.display());
            }
            None if !format.is_text() && io::stdout().is_terminal() => {
                return Err(Failure::usage(format!(
                    "{} is binary: name a file with -o, e.g. -o profile.{}",
                    format.name(),
                    format.extension()
                )));
            }
            None => {
                let mut out = BufWriter::new(io::stdout().lock());
                write(&mut out)?;
                out.flush()?;
            }
        }
        Ok(DONE)
    }
}

/// Read another tool's profile.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  quipu import stacks.collapsed --from collapsed -o stacks.quipu
  quipu import cpu.pb.gz --from pprof -o cpu.quipu")]
pub struct Import {
    /// The file to read
    file: PathBuf,
    /// Its format
    #[arg(long, value_enum)]
    from: From,
    /// What the numbers of collapsed stacks are
    #[arg(long, value_name = "METRIC", default_value = "samples")]
    metric: String,
    /// Where to write the profile
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum From {
    Collapsed,
    Pprof,
}

impl Import {
    /// Converts the file.
    pub fn run(self) -> anyhow::Result<u8> {
        let name = self.file.display();
        let mut file =
            File::open(&self.file).map_err(|e| Failure::usage(format!("cannot read {name}: {e}")))?;
        let limits = Limits::default();
        let profile = progress::during(format!("reading {name}"), || match self.from {
            From::Collapsed => import::collapsed(BufReader::new(file), &self.metric, &limits)
                .map_err(|e| Failure::usage(format!("{name}: {e}"))),
            From::Pprof => {
                let mut bytes = Vec::new();
                (&mut file).take(limits.bytes).read_to_end(&mut bytes)?;
                import::pprof(&bytes, &limits).map_err(|e| Failure::usage(format!("{name}: {e}")))
            }
        })?;
        crate::run::save(&profile, &self.output)?;
        Ok(DONE)
    }
}
