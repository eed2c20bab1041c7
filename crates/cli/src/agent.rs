//! Finding the agent library and telling it what to do; `quipu agent` writes it to a file.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use quipu_kinds::{Chosen, escape};

use crate::exit::{DONE, Failure};

const LIBRARY: &str = "libquipu_agent.so";

/// The library, in programs that come with it.
static INSIDE: Option<&[u8]> = include!(concat!(env!("OUT_DIR"), "/agent.rs"));

/// The agent library: beside this program, in the `lib` directory next to its own, or unpacked from inside it.
pub fn library() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let here = program.parent().map(PathBuf::from).unwrap_or_default();
    let places = [here.join(LIBRARY), here.join("../lib").join(LIBRARY)];
    if let Some(path) = places.iter().find(|path| path.is_file()) {
        return Ok(path.canonicalize()?);
    }
    match INSIDE {
        Some(bytes) => unpacked(bytes).context("cannot unpack the agent library"),
        None => Err(Failure::target(format!(
            "{LIBRARY} is not beside {}: build it with `cargo build --release`, or run ./quipu, which does",
            program.display()
        ))),
    }
}

/// The library in a directory of ours that everybody can read, since the JVM may be somebody else's. It is written once for
/// each version; one that others could have prepared is refused.
fn unpacked(bytes: &[u8]) -> io::Result<PathBuf> {
    let uid = rustix::process::geteuid().as_raw();
    let name = format!("quipu-{uid}-agent-{}-{:016x}", env!("CARGO_PKG_VERSION"), fingerprint(bytes));
    let directory = std::env::temp_dir().join(name);
    match DirBuilder::new().mode(0o755).create(&directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = fs::symlink_metadata(&directory)?;
    if !found.is_dir() || found.uid() != uid || found.mode() & 0o022 != 0 {
        let why = format!("{} must be a directory of yours that only you can change", directory.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let path = directory.join(LIBRARY);
    if fs::read(&path).is_ok_and(|there| there == bytes) {
        return Ok(path);
    }
    // Under another name first: a JVM that loads it finds all of it.
    let fresh = directory.join(format!("{LIBRARY}.{}", std::process::id()));
    write(&fresh, bytes)?;
    fs::rename(&fresh, &path)?;
    Ok(path)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o755).open(path)?;
    file.write_all(bytes)
}

/// Fowler, Noll and Vo's hash.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// Write the agent library, for images and JVMs that are started without quipu
///
/// A JVM loads it with -agentpath, and takes its options from there or from QUIPU_OPTIONS: what to measure, as on the
/// command line without dashes, `file` for the profile, in which %p is the process, %t the time and %h the host, and
/// `delay` for seconds until it begins. The profile can be read while it grows, and after the JVM has ended.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  quipu agent -o libquipu_agent.so
  java -agentpath:$PWD/libquipu_agent.so=cpu,file=app-%p-%t.arena -jar app.jar
  JAVA_TOOL_OPTIONS=-agentpath:/quipu/libquipu_agent.so QUIPU_OPTIONS=cpu=100,delay=30,file=/profiles/%h-%t.arena
  quipu report app-4711-20261118-013000.arena")]
pub struct Agent {
    /// Where to write it
    #[arg(short, long, value_name = "FILE", default_value = LIBRARY)]
    output: PathBuf,
}

impl Agent {
    /// Writes the library.
    pub fn run(self) -> anyhow::Result<u8> {
        let bytes = match INSIDE {
            Some(bytes) => bytes.to_vec(),
            None => fs::read(library()?)?,
        };
        write(&self.output, &bytes).with_context(|| format!("cannot write {}", self.output.display()))?;
        eprintln!("quipu: wrote {}", self.output.display());
        Ok(DONE)
    }
}

/// The agent's option for measuring nothing until told to.
pub const IDLE: &str = "idle";

/// Behind other options: take everything out again when the process that attached is gone.
pub const HELD: &str = ",held";

/// The agent's options for what was asked, with the arena in `directory`.
pub fn run_options(chosen: &Chosen, directory: &std::path::Path) -> String {
    format!("dir={},{}", escape(&directory.display().to_string()), chosen.text())
}

/// The same, for JVMs in which counting is to begin when listeners in `jar` say so.
pub fn with_tests(options: &str, jar: &std::path::Path) -> String {
    format!("{options},tests={}", escape(&jar.display().to_string()))
}
