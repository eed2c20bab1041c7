//! `quipu perf-map`: names of compiled code, for `perf`.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use clap::Args;
use quipu_collector::attach::{Attach, AttachError, Target};
use quipu_report::grouped;

use crate::attach::find;
use crate::exit::{DONE, Failure};

/// Write /tmp/perf-PID.map, by which perf names compiled Java code
///
/// The JVM writes where each compiled method lies at this moment; what is compiled later, or was thrown away before, is not in it. No
/// agent is loaded. Needs a JVM of Java 17 or newer.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  perf record -g -p 4711 -- sleep 10; quipu perf-map 4711; perf report")]
pub struct PerfMap {
    /// Process id, or part of the main class's name
    #[arg(value_name = "PID|NAME")]
    target: String,
}

impl PerfMap {
    /// Has the map written, and brings it where `perf` looks for it.
    pub fn run(self) -> anyhow::Result<u8> {
        let pid = find(&self.target)?;
        let target = Target::find(pid).map_err(Failure::target)?;
        let said = Attach::new(&target).jcmd("Compiler.perfmap").map_err(|error| match error {
            AttachError::Command { output, .. } => Failure::target(format!(
                "this JVM writes no map, which needs Java 17 or newer ({}); quipu attach --cpu names compiled code on all",
                output.lines().next().unwrap_or("it did not say why").trim()
            )),
            error => Failure::target(error),
        })?;
        // It goes by the files and the number that the process knows.
        let theirs = target.root().join(format!("tmp/perf-{}.map", target.namespace_pid()));
        let ours = PathBuf::from(format!("/tmp/perf-{pid}.map"));
        let written = open(&theirs, target.uid());
        let written = written.map_err(|error| {
            Failure::target(format!(
                "the JVM wrote no {}: {error}; it said: {}",
                theirs.display(),
                said.trim()
            ))
        })?;
        let methods = BufReader::new(&written).lines().count();
        if !(target.shares_our_files() && target.namespace_pid() == pid) {
            let copied = open(&theirs, target.uid()).and_then(|map| copy(map, &ours));
            copied.map_err(|error| Failure::target(format!("cannot write {}: {error}", ours.display())))?;
        }
        eprintln!("quipu: wrote {}: {} pieces of compiled code", ours.display(), grouped(methods as u64));
        Ok(DONE)
    }
}

/// The process's own file, and nothing that somebody has put in its place.
fn open(path: &Path, owner: u32) -> io::Result<File> {
    let no_link = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(no_link.bits().cast_signed()).open(path)?;
    let found = file.metadata()?;
    if found.is_file() && found.uid() == owner {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is not the JVM's"))
    }
}

/// A file of this name is replaced, not written to.
fn copy(mut map: File, to: &Path) -> io::Result<()> {
    let mut copy = tempfile::NamedTempFile::new_in(to.parent().unwrap_or(Path::new("/tmp")))?;
    io::copy(&mut map, &mut copy)?;
    copy.persist(to)?;
    Ok(())
}
