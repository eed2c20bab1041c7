//! `quipu clean`: what targets that were killed have left behind.

use std::time::Duration;

use clap::Args;
use quipu_arena::place;
use quipu_collector::orphans::{self, Orphan};

use crate::exit::{DONE, Failure};

/// Remove profiles that were left behind by targets that were killed.
///
/// `quipu ps` lists them. Those that are older than 7 days are removed by the next `quipu run` or `quipu attach`. What a target
/// that runs is using is never removed.
#[derive(Args, Debug)]
pub struct Clean {
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
}

/// After this time nobody will ask for it any more.
const OLD: Duration = Duration::from_secs(7 * 24 * 3600);

impl Clean {
    /// Removes them, and says so.
    pub fn run(self) -> anyhow::Result<u8> {
        let directory = place::directory().map_err(Failure::target)?;
        let found = orphans::list(&directory);
        let verb = if self.dry_run { "would remove" } else { "removed" };
        for orphan in &found {
            if !self.dry_run {
                orphan.remove().map_err(|e| Failure::target(format!("{}: {e}", orphan.path.display())))?;
            }
            eprintln!("quipu: {verb} {}", described(orphan));
        }
        if !self.dry_run {
            orphans::sweep(&directory);
        }
        if found.is_empty() {
            eprintln!("quipu: nothing was left behind in {}", directory.display());
        }
        Ok(DONE)
    }
}

/// Its path, size and age.
pub fn described(orphan: &Orphan) -> String {
    let hours = orphan.age.as_secs() / 3600;
    let age = if hours < 48 { format!("{hours} h") } else { format!("{} days", hours / 24) };
    format!("{} ({:.1} MB, {age} old)", orphan.path.display(), orphan.bytes as f64 / 1e6)
}

/// Removes what is so old that nobody will ask for it. That nothing can be removed is no reason not to measure.
pub fn remove_old() {
    let Ok(directory) = place::directory() else { return };
    let old: Vec<Orphan> = orphans::list(&directory).into_iter().filter(|orphan| orphan.age > OLD).collect();
    let removed = old.iter().filter(|orphan| orphan.remove().is_ok()).count();
    if removed > 0 {
        eprintln!("quipu: removed what killed targets left more than 7 days ago ({removed} arenas)");
    }
    orphans::sweep(&directory);
}
