//! A JVM that runs: its heap as a dump, and counted.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use quipu_collector::attach::{Attach, AttachError, Request, Target};
use quipu_heap::Histogram;
use serde_json::json;

use super::open::Reading;
use super::table::bytes;
use super::{Limit, print_json, views};
use crate::attach::find;
use crate::exit::{DONE, Failure};
use crate::{output, progress};

/// Writing 60 GB to a slow disk takes its time, and the JVM cannot be told to stop.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Write a dump of a JVM that runs
///
/// The JVM stands still while it writes. Only objects that are alive are written, for which it collects garbage first,
/// unless --all is given.
#[derive(Args, Debug)]
pub struct DumpOf {
    /// Process id, or part of the main class's name
    #[arg(value_name = "PID|NAME")]
    target: String,

    /// Where to write it
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Compressed, which JDK 15 and later can do
    #[arg(long)]
    gz: bool,

    /// Garbage, too
    #[arg(long)]
    all: bool,
}

impl DumpOf {
    /// Has the dump written.
    pub fn run(self, reading: &Reading) -> anyhow::Result<u8> {
        if self.output.exists() {
            return Err(Failure::usage(format!(
                "{} is there already: remove it, or name another with -o",
                self.output.display()
            )));
        }
        output::check(&self.output)?;
        let pid = find(&self.target)?;
        let target = Target::find(pid).map_err(Failure::target)?;
        let part = Part::beside(&self.output, pid)?;
        let channel = Attach::new(&target).with_timeout(PATIENCE);
        eprintln!("quipu: {pid} stands still while it writes its heap");
        let begun = Instant::now();
        let written =
            progress::during(format!("{pid} writes its heap"), || part.write(&channel, self.all, self.gz));
        let took = begun.elapsed();
        written?;
        let size = part.keep(&self.output)?;
        if reading.json {
            print_json(&json!({ "file": self.output, "bytes": size, "seconds": took.as_secs_f64() }))?;
        }
        eprintln!(
            "quipu: {}: {}, written in {:.2} s",
            self.output.display(),
            bytes(size),
            took.as_secs_f64()
        );
        Ok(DONE)
    }
}

/// What the JVM says, beside other things, when a dump is whole.
const WRITTEN: &str = "Heap dump file created";

/// A file that the JVM writes, under another name until it is whole.
struct Part {
    path: PathBuf,
}

impl Part {
    fn beside(output: &Path, pid: u32) -> anyhow::Result<Part> {
        let name = output.file_name().unwrap_or_default().to_string_lossy();
        let folder =
            output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().map_err(Failure::usage)?;
        Ok(Part { path: folder.join(format!(".{name}.{pid}-{}.part", std::process::id())) })
    }

    fn write(&self, channel: &Attach<'_>, all: bool, gz: bool) -> anyhow::Result<()> {
        let path = self.path.to_str().ok_or_else(|| Failure::usage("the name of the output is not UTF-8"))?;
        let which = if all { "-all" } else { "-live" };
        // The level of compression comes third; JVMs that cannot compress do not read it.
        let level: &[u8] = if gz { b"1" } else { b"" };
        let request = Request::other("dumpheap", [path.as_bytes(), which.as_bytes(), level]);
        let printed = channel.run(&request).map_err(|error| match error {
            AttachError::Command { output, .. } => {
                Failure::target(format!("the JVM could not write its heap: {output}"))
            }
            error => Failure::target(error),
        })?;
        if !self.path.is_file() {
            return Err(Failure::target(format!(
                "the JVM wrote no dump; it said: {}; if it runs in a container or as another user, name a place that it can write to",
                printed.trim()
            )));
        }
        // A disk that was full is no error to the JVM's command.
        if !printed.contains(WRITTEN) {
            return Err(Failure::target(format!(
                "the JVM could not write its whole heap: {}",
                printed.trim()
            )));
        }
        if gz && !is_packed(&self.path) {
            eprintln!("quipu: this JVM cannot compress dumps; it is written as it is");
        }
        Ok(())
    }

    fn keep(&self, output: &Path) -> anyhow::Result<u64> {
        let size = std::fs::metadata(&self.path).map_err(Failure::target)?.len();
        std::fs::rename(&self.path, output)
            .map_err(|error| Failure::target(format!("cannot write {}: {error}", output.display())))?;
        Ok(size)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It has its own name by now, or is of no use.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn is_packed(path: &Path) -> bool {
    let mut magic = [0; 2];
    let read =
        std::fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut magic));
    read.is_ok() && magic == [0x1f, 0x8b]
}

/// `quipu heap histo PID`.
pub fn histogram(reading: &Reading, name: &str, live: bool, limit: Limit) -> anyhow::Result<u8> {
    let pid = find(name)?;
    let target = Target::find(pid).map_err(Failure::target)?;
    let channel = Attach::new(&target).with_timeout(PATIENCE);
    let which: &[u8] = if live { b"-live" } else { b"-all" };
    let request = Request::other("inspectheap", [which, b"", b""]);
    let text = progress::during(format!("{pid} counts its objects"), || channel.run(&request))
        .map_err(Failure::target)?;
    let histogram = Histogram::of_jcmd(&text)
        .ok_or_else(|| Failure::target(format!("process {pid} answered something that is no histogram")))?;
    views::print_histogram(reading, &histogram, limit, None)?;
    Ok(DONE)
}
