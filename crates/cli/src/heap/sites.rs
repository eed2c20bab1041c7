//! `quipu heap sites`: where objects were made, by class.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use serde_json::json;

use super::made::Made;
use super::open::Reading;
use super::table::more;
use super::{Limit, print, print_json};
use crate::attach::Attach;

/// Of a profile.
pub fn of_profile(reading: &Reading, file: &Path, limit: Limit) -> anyhow::Result<u8> {
    let made = Made::read(file)?;
    let mut classes = made.classes();
    let all = classes.len();
    classes.truncate(limit.rows());
    if reading.json {
        print_json(&json!({ "by": "site", "metrics": [made.metric()], "rows": made.json(&classes) }))?;
    } else {
        print(&(made.text(&classes) + &more(all, classes.len())))?;
    }
    Ok(crate::exit::DONE)
}

/// Of a JVM, which is watched for a while: what it makes in that time and still has at its end.
pub fn of_process(reading: &Reading, name: &str, duration: Duration, limit: Limit) -> anyhow::Result<u8> {
    #[derive(Parser)]
    struct Watching {
        #[command(flatten)]
        attach: Attach,
    }
    let profile = Temporary::new();
    let seconds = duration.as_secs_f64().to_string();
    let output = profile.0.display().to_string();
    let words = ["quipu", name, "--live", "--duration", &seconds, "--output", &output];
    Watching::try_parse_from(words)?.attach.run()?;
    of_profile(reading, &profile.0, limit)
}

/// A profile that nobody asked for.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Temporary {
        Temporary(std::env::temp_dir().join(format!("quipu-sites-{}.quipu", std::process::id())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Nothing is left to do if it is not there.
        let _ = std::fs::remove_file(&self.0);
    }
}
