//! `quipu doctor`: what works on this machine and with this JVM, what does not, and how to fix it.

mod trial;

use std::fs;
use std::path::PathBuf;

use clap::Args;
use quipu_arena::place;
use quipu_kinds::{Kind, OLDEST_JAVA};
use serde_json::json;

use crate::exit::{DONE, TARGET};
use crate::perf_events::{self, Offer};
use trial::Trial;

/// Tell what works on this machine and with this JVM, what does not, and how to fix it.
///
/// It starts the JVM for a moment with the agent in it, once for all kinds that can be on at the same time, and looks at what
/// the agent found.
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
    what: String,
    works: bool,
    /// What was found.
    found: String,
    /// What can be done about it; empty if nothing needs to be.
    advice: String,
}

impl Finding {
    fn good(what: impl Into<String>, found: impl Into<String>) -> Finding {
        Finding { what: what.into(), works: true, found: found.into(), advice: String::new() }
    }

    fn bad(what: impl Into<String>, found: impl Into<String>, advice: impl Into<String>) -> Finding {
        Finding { advice: advice.into(), works: false, ..Finding::good(what, found) }
    }

    /// It works, but less well than it could.
    fn fair(what: impl Into<String>, found: impl Into<String>, advice: impl Into<String>) -> Finding {
        Finding { advice: advice.into(), ..Finding::good(what, found) }
    }
}

impl Doctor {
    /// Prints the findings. Status 3 if nothing can be profiled.
    pub fn run(self) -> anyhow::Result<u8> {
        let mut findings = vec![arenas(), kernel()];
        findings.extend(perf_events::offers().into_iter().flat_map(of_events));
        let usable = match self.try_jvm() {
            Ok(found) => {
                findings.extend(found);
                true
            }
            Err(error) => {
                let advice =
                    format!("name a HotSpot of JDK {OLDEST_JAVA} or newer: quipu doctor /path/to/bin/java");
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

    /// Tries all kinds on the JVM.
    fn try_jvm(&self) -> anyhow::Result<Vec<Finding>> {
        let mut findings = Vec::new();
        for group in trial::groups() {
            let together = Trial::of(&self.java, &group)?;
            if findings.is_empty() {
                findings.push(jvm(&together));
            }
            for kind in group {
                // One that cannot be started keeps those behind it from being started.
                let alone =
                    if together.measured(kind) { None } else { Some(Trial::of(&self.java, &[kind])?) };
                findings.extend(of_kind(kind, alone.as_ref().unwrap_or(&together)));
            }
        }
        Ok(findings)
    }
}

fn jvm(trial: &Trial) -> Finding {
    let fact = |key: &str| trial.fact(key).unwrap_or_default();
    Finding::good("jvm", format!("{} {}", fact("java.vm.name"), fact("java.vm.version")))
}

/// Whether a kind works, and what there is to say about how.
fn of_kind(kind: &Kind, trial: &Trial) -> Vec<Finding> {
    let what = format!("--{}", kind.name());
    if !trial.measured(kind) {
        let advice = match kind.since > OLDEST_JAVA {
            true => format!("{}; the other kinds do not need it", kind.needs()),
            false => "the other kinds do not need it".to_owned(),
        };
        return vec![Finding::bad(what, trial.why(), advice)];
    }
    match trial.fact("sampling.cpu.clock").filter(|_| kind.name() == quipu_kinds::CPU.name()) {
        Some(clock) => of_cpu(what, clock, trial),
        None => vec![Finding::good(what, format!("cost: {}", kind.cost))],
    }
}

/// Which events can be counted.
fn of_events(offer: Offer) -> Vec<Finding> {
    let Offer { of, there, missing, user_only } = offer;
    let what = |names: &[String]| format!("{of}: {}", names.join(", "));
    let mut findings = Vec::new();
    match user_only {
        _ if there.is_empty() => {}
        false => findings.push(Finding::good("events", what(&there))),
        true => {
            let found = format!("{}; without what takes place in the kernel", what(&there));
            findings.push(Finding::fair("events", found, perf_events::more()));
        }
    }
    findings.extend(missing.into_iter().map(|(names, why)| Finding::bad("events", what(&names), why)));
    findings
}

/// What time is measured with, how stacks are walked, and whether the kernel tells of its own.
fn of_cpu(what: String, clock: &str, trial: &Trial) -> Vec<Finding> {
    let why = trial.fact("sampling.cpu.clock.why");
    let time = match why {
        None => Finding::good(what, clock),
        Some(why) => Finding::fair(
            what,
            format!("{clock} ({why}): samples come at the kernel's tick, and stand for all since"),
            "for rates above 250: sysctl kernel.perf_event_paranoid=1, or CAP_PERFMON",
        ),
    };
    let stacks = trial.fact("sampling.walker").map(|walker| {
        if walker.starts_with("AsyncGetCallTrace") {
            Finding::fair(
                "stacks",
                format!("{walker}: no tiers, no frames of machine code, more walks that fail"),
                "tell us of this JVM, so that the walker learns its structures",
            )
        } else {
            Finding::good(
                "stacks",
                format!("{walker} walker: tiers, inlined methods, functions of the VM and of libraries"),
            )
        }
    });
    let kernel = match why {
        None => kernel_names(),
        Some(why) => Finding::bad(
            "kernel code",
            format!("its frames are not told ({why})"),
            "sysctl kernel.perf_event_paranoid=1, or CAP_PERFMON; all else works without",
        ),
    };
    [Some(time), stacks, Some(kernel)].into_iter().flatten().collect()
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
        true => Finding::fair(
            "kernel code",
            "frames by perf_event_open, without names: /proc/kallsyms does not tell addresses",
            "sysctl kernel.kptr_restrict=0, or CAP_SYSLOG for quipu",
        ),
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
