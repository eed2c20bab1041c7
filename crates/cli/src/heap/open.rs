//! Opening dumps: compressed ones, progress on a terminal, and where tables go.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use clap::Args;
use flate2::read::MultiGzDecoder;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use quipu_heap::{Damage, DumpFile, HeapError, InMemory, Scratch, Source, Watch};

use super::free_memory::free_memory;
use super::mapped::InFiles;
use crate::exit::{Failure, TARGET, USAGE};

/// What every analysis of a dump can be told.
#[derive(Args, Debug, Clone, Default)]
pub struct Reading {
    /// Keep tables in this directory instead of memory; done by itself, beside the dump, if memory is too small
    #[arg(long, value_name = "DIR", global = true)]
    pub index: Option<PathBuf>,

    /// For programs
    #[arg(long, global = true)]
    pub json: bool,
}

/// A dump's file, opened.
pub struct Opened {
    /// Its bytes, unpacked.
    pub source: DumpFile,
    /// Where an analysis keeps its tables.
    pub scratch: Box<dyn Scratch>,
    /// Where a compressed file ended too early.
    pub cut: Option<Damage>,
}

impl Reading {
    /// Opens a dump.
    pub fn open(&self, path: &Path) -> anyhow::Result<Opened> {
        let cannot = |error: io::Error| Failure::usage(format!("cannot read {}: {error}", path.display()));
        let mut file = File::open(path).map_err(cannot)?;
        let mut magic = [0; 2];
        let packed = file.read(&mut magic).map_err(cannot)? == 2 && magic == [0x1f, 0x8b];
        file.rewind().map_err(cannot)?;
        let beside = self.index.clone().unwrap_or_else(|| match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        });
        let (file, cut) = if packed { unpack(file, &beside)? } else { (file, None) };
        let source = DumpFile::new(file).map_err(cannot)?;
        let scratch: Box<dyn Scratch> = if self.index.is_some() || is_too_large(source.size()) {
            if self.index.is_none() {
                eprintln!(
                    "quipu: memory is too small for this dump; tables are kept in files in {} (--index names another place)",
                    beside.display()
                );
            }
            Box::new(InFiles { directory: beside })
        } else {
            Box::new(InMemory)
        };
        Ok(Opened { source, scratch, cut })
    }
}

/// An analysis takes nine tenths of the dump's size at the most (`docs/heap.md`); it gets three quarters of what is free.
fn is_too_large(dump: u64) -> bool {
    free_memory().is_some_and(|free| dump / 10 * 9 > free / 4 * 3)
}

/// Unpacks into a file without a name; a dump is read here and there, which packed files cannot be.
fn unpack(file: File, beside: &Path) -> anyhow::Result<(File, Option<Damage>)> {
    let place = [beside.to_owned(), std::env::temp_dir()];
    let mut unpacked = place.iter().find_map(|place| tempfile::tempfile_in(place).ok()).ok_or_else(|| {
        Failure::target(format!(
            "no place to unpack the dump to: neither {} nor {} can be written to; --index names another",
            place[0].display(),
            place[1].display()
        ))
    })?;
    let bar = Bar::new();
    bar.begin("unpacking", file.metadata().map_or(0, |data| data.len()));
    let mut reader = MultiGzDecoder::new(Counting { file, bar: &bar });
    let mut buffer = vec![0; 1 << 20];
    let mut written = 0_u64;
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok((unpacked, None)),
            Ok(count) => {
                unpacked.write_all(&buffer[..count]).map_err(|error| {
                    Failure::target(format!("unpacking the dump: {error}; --index names another place"))
                })?;
                written += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // What was unpacked so far is a dump that is cut off.
            Err(error) => {
                let what = format!("the compressed file is damaged or ends too early ({error})");
                return Ok((unpacked, Some(Damage { offset: written, what })));
            }
        }
    }
}

struct Counting<'b> {
    file: File,
    bar: &'b Bar,
}

impl Read for Counting<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(into)?;
        self.bar.advance(count as u64);
        Ok(count)
    }
}

/// A bar on a terminal; nothing in a pipe.
pub struct Bar(Mutex<Option<ProgressBar>>);

impl Bar {
    /// Nothing is shown yet.
    pub fn new() -> Bar {
        Bar(Mutex::new(None))
    }

    fn take(&self) -> Option<ProgressBar> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    }
}

impl Watch for Bar {
    fn begin(&self, step: &'static str, total: u64) {
        let target = ProgressDrawTarget::stderr();
        if target.is_hidden() {
            return;
        }
        if let Some(before) = self.take() {
            before.finish_and_clear();
        }
        let style = ProgressStyle::with_template("{msg:32} {bar:30} {percent:>3} % {elapsed}");
        let bar = ProgressBar::with_draw_target(Some(total), target).with_message(step);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(200));
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(bar);
    }

    fn advance(&self, by: u64) {
        if let Some(bar) = &*self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) {
            bar.inc(by);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = self.take() {
            bar.finish_and_clear();
        }
    }
}

/// The exit status for what went wrong: the machine could not do it, or the file is not what it should be.
pub fn failed(path: &Path) -> impl Fn(HeapError) -> anyhow::Error {
    move |error| {
        let status = if matches!(error, HeapError::Io { .. }) { TARGET } else { USAGE };
        Failure { status, message: format!("{}: {error}", path.display()) }.into()
    }
}

/// Tells of damage; the exit status that it leads to.
pub fn tell(path: &Path, damage: &[Damage], objects: u64) -> u8 {
    let Some(first) = damage.first() else { return crate::exit::DONE };
    let more = damage.len() - 1;
    eprintln!(
        "quipu: {} is damaged at {first}{}; {} objects could be read, and all figures are of these",
        path.display(),
        if more > 0 { format!(" (and in {more} more places)") } else { String::new() },
        quipu_report::grouped(objects),
    );
    USAGE
}
