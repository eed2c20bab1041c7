//! `quipu doctor`: what works on this machine and with this JVM, what does not, and how to fix it.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use clap::Args;
use quipu_arena::place;
use quipu_collector::facts;
use serde_json::json;

use crate::agent;
use crate::exit::{DONE, TARGET};
use crate::launch::RunDirectory;

/// Tell what works on this machine and with this JVM, what does not, and how to fix it.
///
/// It starts the JVM for a moment with the agent in it, and looks at what the agent found.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  quipu doctor
  quipu doctor /usr/lib/jvm/jdk-25/bin/java")]
pub struct Doctor {
    /// The java to try
    #[arg(default_value = "java", value_name = "JAVA")]
    java: PathBuf,

    /// For programs
    #[arg(long)]
    json: bool,
}

/// One thing that was looked at.
struct Finding {
    what: &'static str,
    works: bool,
    /// What was found.
    found: String,
    /// What can be done about it; empty if nothing needs to be.
    advice: &'static str,
}

impl Finding {
    fn good(what: &'static str, found: impl Into<String>) -> Finding {
        Finding { what, works: true, found: found.into(), advice: "" }
    }

    fn bad(what: &'static str, found: impl Into<String>, advice: &'static str) -> Finding {
        Finding { what, works: false, found: found.into(), advice }
    }
}

impl Doctor {
    /// Prints the findings. Status 3 if nothing can be profiled.
    pub fn run(self) -> anyhow::Result<u8> {
        let mut findings = vec![arenas(), kernel()];
        let usable = match self.try_jvm() {
            Ok(found) => {
                findings.extend(found);
                true
            }
            Err(error) => {
                let advice = "name a HotSpot of JDK 17 or newer: quipu doctor /path/to/bin/java";
                findings.push(Finding::bad("jvm", format!("{error:#}"), advice));
                false
            }
        };
        if self.json {
            let rows: Vec<_> = findings
                .iter()
                .map(|f| json!({ "what": f.what, "works": f.works, "found": f.found, "advice": f.advice }))
                .collect();
            println!("{}", json!({ "findings": rows }));
        } else {
            for finding in &findings {
                let mark = if finding.works { "ok" } else { "no" };
                println!("{mark}  {:<12} {}", finding.what, finding.found);
                if !finding.advice.is_empty() {
                    println!("    {:<12} {}", "", finding.advice);
                }
            }
        }
        Ok(if usable { DONE } else { TARGET })
    }

    /// Runs the JVM with the agent, which samples for that moment, and reads what it left.
    fn try_jvm(&self) -> anyhow::Result<Vec<Finding>> {
        let directory = RunDirectory::new()?;
        let mut option = OsString::from("-agentpath:");
        option.push(agent::library()?);
        option.push(format!(
            "=dir={},cpu=1000,wall=1000",
            quipu_kinds::escape(&directory.0.display().to_string())
        ));
        let output = Command::new(&self.java)
            .arg(option)
            .arg("-version")
            .output()
            .with_context(|| format!("cannot start {}", self.java.display()))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let arena = fs::read_dir(&directory.0)?
            .flatten()
            .map(|entry| entry.path())
            .find(|path| place::pid_of(path).is_some());
        let arena = arena.with_context(|| format!("the agent could not be loaded: {}", said.trim()))?;
        let found = facts::of_arena(&arena)?;
        let fact =
            |key: &str| found.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value.clone());
        let name = fact("java.vm.name").unwrap_or_default();
        let version = fact("java.vm.version").unwrap_or_default();
        let mut findings = vec![Finding::good("jvm", format!("{name} {version}"))];
        match (fact("sampling.cpu.clock"), fact("sampling.cpu.clock.why")) {
            (Some(clock), None) => findings.push(Finding::good("--cpu", clock)),
            (Some(clock), Some(why)) => findings.push(Finding {
                what: "--cpu",
                works: true,
                found: format!("{clock} ({why}): samples come at the kernel's tick, and stand for all since"),
                advice: "for rates above 250: sysctl kernel.perf_event_paranoid=1, or CAP_PERFMON",
            }),
            (None, _) => {
                let why = said.lines().find_map(|line| line.strip_prefix("quipu: not profiling: "));
                let why = why.unwrap_or("the agent did not say why").to_owned();
                findings.push(Finding::bad("--cpu", why, "exact profiles do not need it"));
            }
        }
        match fact("sampling.walker") {
            Some(walker) if walker.starts_with("AsyncGetCallTrace") => findings.push(Finding {
                what: "stacks",
                works: true,
                found: format!("{walker}: no tiers, no frames of machine code, more walks that fail"),
                advice: "tell us of this JVM, so that the walker learns its structures",
            }),
            Some(walker) => findings.push(Finding::good(
                "stacks",
                format!("{walker} walker: tiers, inlined methods, functions of the VM and of libraries"),
            )),
            None => {}
        }
        match (fact("sampling.cpu.clock"), fact("sampling.cpu.clock.why")) {
            (Some(_), None) => findings.push(kernel_names()),
            (_, Some(why)) => findings.push(Finding::bad(
                "kernel code",
                format!("its frames are not told ({why})"),
                "sysctl kernel.perf_event_paranoid=1, or CAP_PERFMON; all else works without",
            )),
            (None, None) => {}
        }
        if fact("sampling.wall.period").is_some() {
            findings.push(Finding::good("--wall", "states and stacks from JVMTI"));
        }
        Ok(findings)
    }
}

fn arenas() -> Finding {
    match place::directory() {
        Ok(directory) => Finding::good("arena", directory.display().to_string()),
        Err(error) => {
            Finding::bad("arena", error.to_string(), "set XDG_RUNTIME_DIR or TMPDIR to one of yours")
        }
    }
}

/// Whether frames of the kernel, which are told, have names.
fn kernel_names() -> Finding {
    let list = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let hidden = |line: &str| line.split(' ').next().is_none_or(|address| address.bytes().all(|b| b == b'0'));
    match list.lines().all(hidden) {
        false => Finding::good("kernel code", "frames by perf_event_open, names by /proc/kallsyms"),
        true => Finding {
            what: "kernel code",
            works: true,
            found: "frames by perf_event_open, without names: /proc/kallsyms does not tell addresses"
                .to_owned(),
            advice: "sysctl kernel.kptr_restrict=0, or CAP_SYSLOG for quipu",
        },
    }
}

fn kernel() -> Finding {
    let read = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned());
    let release = read("/proc/sys/kernel/osrelease").unwrap_or_default();
    match read("/proc/sys/kernel/perf_event_paranoid") {
        Ok(level) => Finding::good("kernel", format!("{release}, perf_event_paranoid {level}")),
        Err(_) => Finding::bad(
            "kernel",
            format!("{release}, without perf_event_open"),
            "--cpu uses POSIX timers there",
        ),
    }
}
