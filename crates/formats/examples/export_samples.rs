//! Writes made-up profiles in every format, for readers that were not written here (`tests/formats/check.sh`).
//!
//! ```text
//! cargo run -p quipu-formats --example export_samples -- DIRECTORY
//! ```

#[path = "../tests/common/mod.rs"]
mod common;

use quipu_formats::{ExportError, Format, Options, export};
use quipu_profile::Profile;
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let directory: PathBuf = std::env::args_os().nth(1).ok_or("usage: export_samples DIRECTORY")?.into();
    fs::create_dir_all(&directory)?;
    let write = |name: &str, profile: &Profile, format: Format| -> Result<(), Box<dyn Error>> {
        let path = directory.join(format!("{name}.{}", format.extension()));
        let mut out = BufWriter::new(File::create(&path)?);
        match export(profile, format, &Options::default(), &mut out) {
            // There is nothing that a compiler could be told.
            Err(ExportError::NothingHot) => Ok(fs::remove_file(path)?),
            exported => Ok(exported.and_then(|_| Ok(out.flush()?))?),
        }
    };
    let samples = [
        ("shop", common::shop(6_000)),
        ("hostile", common::hostile()),
        ("deep", common::deep(100_000)),
        ("empty", common::empty()),
    ];
    for (name, profile) in &samples {
        let has_calls = profile.metric("calls").is_some();
        for format in Format::ALL.into_iter().filter(|&format| has_calls || format != Format::Directives) {
            write(name, profile, format)?;
        }
    }
    write("large", &common::shop(600_000), Format::Html)?;
    Ok(())
}
