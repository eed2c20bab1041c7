//! `quipu ps`: the JVMs on this machine, and profiles that killed ones left behind.

use clap::Args;
use quipu_arena::place;
use quipu_collector::{jvms, orphans};
use serde_json::json;

use crate::clean::described;
use crate::exit::DONE;

/// List the JVMs on this machine.
///
/// Profiles left behind by targets that were killed are listed too; `quipu report` reads them, `quipu clean` removes them.
#[derive(Args, Debug)]
pub struct Ps {
    /// For programs
    #[arg(long)]
    json: bool,
}

impl Ps {
    /// Prints the list.
    pub fn run(self) -> anyhow::Result<u8> {
        let running = jvms::list();
        let orphans = place::directory().map(|directory| orphans::list(&directory)).unwrap_or_default();
        if self.json {
            let rows: Vec<_> = running
                .iter()
                .map(|jvm| {
                    json!({
                        "pid": jvm.pid, "main": jvm.main, "java": jvm.java_version, "vm": jvm.vm_name,
                        "user": jvm.user, "uptime_seconds": jvm.uptime.map(|t| t.as_secs()),
                        "attachable": jvm.attachable, "accessible": jvm.accessible,
                    })
                })
                .collect();
            let orphans: Vec<_> = orphans.iter().map(|orphan| &orphan.path).collect();
            println!("{}", json!({ "jvms": rows, "orphans": orphans }));
            return Ok(DONE);
        }
        println!("{:>8}  {:<10} {:<10} {:>8}  MAIN", "PID", "USER", "JAVA", "UPTIME");
        for jvm in &running {
            println!(
                "{:>8}  {:<10} {:<10} {:>8}  {}{}",
                jvm.pid,
                jvm.user.as_deref().unwrap_or("?"),
                jvm.java_version.as_deref().unwrap_or("?"),
                jvm.uptime.map_or("?".to_owned(), |t| uptime(t.as_secs())),
                jvm.main.as_deref().unwrap_or("?"),
                if jvm.accessible { "" } else { "  (another user's: attach as that user or root)" }
            );
        }
        for orphan in &orphans {
            println!("left behind by a target that was killed: {}", described(orphan));
        }
        Ok(DONE)
    }
}

fn uptime(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}
