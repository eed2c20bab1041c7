//! Threads as text.

use std::fmt::Write;

use quipu_report::{Style, printable};
use quipu_threads::deadlock::{Deadlock, Orphaned};
use quipu_threads::{Dump, How, Lock, Thread};

/// Frames of a thread in a deadlock, at the most.
const FRAMES: usize = 64;
/// Names in a heading, at the most.
const NAMES: usize = 8;

/// All threads, those with the same stack together.
pub fn threads(dump: &Dump, style: &Style) -> String {
    let mut out = String::new();
    let width = style.width.unwrap_or(usize::MAX);
    let mut line = |text: String| {
        out.extend(printable(&text).chars().take(width));
        out.push('\n');
    };
    for group in dump.groups() {
        let Some(first) = group.first() else { continue };
        line(heading(&group));
        if let Some(wait) = &first.waits_for {
            let lock = if group.len() == 1 { named(&wait.lock) } else { class(&wait.lock).to_owned() };
            let words = match wait.how {
                How::Monitor => "waits to enter",
                How::Notification => "waits to be notified by",
                How::Parked => "parks for",
                How::Class => "waits until a class is initialised:",
            };
            if !lock.is_empty() {
                line(format!("    {words} {lock}"));
            }
        }
        if let ([only], true) = (group.as_slice(), !first.holds.is_empty()) {
            let held: Vec<String> = only.holds.iter().map(named).collect();
            line(format!("    holds {}", held.join(", ")));
        }
        for frame in &first.frames {
            line(format!("    at {frame}"));
        }
        line(String::new());
    }
    let without: Vec<&str> =
        dump.threads.iter().filter(|t| t.frames.is_empty()).map(|t| t.name.as_str()).collect();
    if !without.is_empty() {
        line(format!("{} without Java frames: {}", counted(without.len()), without.join(", ")));
    }
    let virtuals = dump.threads.iter().filter(|thread| thread.is_virtual).count();
    line(format!("{}, {virtuals} of them virtual", counted(dump.threads.len())));
    out
}

fn counted(threads: usize) -> String {
    if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") }
}

fn heading(group: &[&Thread]) -> String {
    let Some(first) = group.first() else { return String::new() };
    let name = |thread: &&Thread| match (thread.name.as_str(), thread.id) {
        ("", Some(id)) => format!("#{id}"),
        (name, _) => format!("\"{name}\""),
    };
    let names: Vec<String> = group.iter().take(NAMES).map(name).collect();
    let more = if group.len() > NAMES { format!(" and {} more", group.len() - NAMES) } else { String::new() };
    let mut text = match group.len() {
        1 => String::new(),
        several => format!("{}: ", counted(several)),
    };
    let _ = write!(text, "{}{more}  {}", names.join(" "), first.state);
    let cpu: f64 = group.iter().filter_map(|thread| thread.cpu_seconds).sum();
    if group.iter().any(|thread| thread.cpu_seconds.is_some()) {
        let _ = write!(text, "  {cpu:.2} s CPU");
    }
    let now: f64 = group.iter().filter_map(|thread| thread.cpu_now).sum();
    if now >= 0.005 {
        let _ = write!(text, ", {:.0} % now", 100.0 * now);
    }
    text
}

fn class(lock: &Lock) -> &str {
    &lock.class
}

fn named(lock: &Lock) -> String {
    match (lock.address, lock.class.as_str()) {
        (0, class) => class.to_owned(),
        (address, class) => format!("{class}@{address:x}"),
    }
}

/// A circle, as a person tells it.
pub fn deadlock(found: &Deadlock<'_>) -> String {
    let mut out = match found.circle.len() {
        1 => "1 thread waits for itself:\n".to_owned(),
        several => format!("{} wait for each other:\n", counted(several)),
    };
    let behind = found.circle.iter().cycle().skip(1);
    for ((thread, lock), (owner, _)) in found.circle.iter().zip(behind) {
        let who = if found.circle.len() == 1 { "itself".to_owned() } else { format!("\"{}\"", owner.name) };
        let _ = writeln!(out, "  \"{}\" waits for {}, which is held by {who}", thread.name, named(lock));
        for frame in thread.frames.iter().take(FRAMES) {
            let _ = writeln!(out, "      at {frame}");
        }
    }
    printable_lines(&out)
}

/// A thread that waits for nobody.
pub fn orphaned(found: &Orphaned<'_>) -> String {
    printable_lines(&format!(
        "\"{}\" waits for {}, which no live thread holds: its holder has ended without letting go of it\n",
        found.thread.name,
        named(found.lock)
    ))
}

/// A thread that waits for somebody who cannot be seen.
pub fn unsure(found: &Orphaned<'_>) -> String {
    printable_lines(&format!(
        "\"{}\" waits for {}, which no platform thread holds: a virtual thread may, which this JVM does not tell (JDK 26 and \
         later do)\n",
        found.thread.name,
        named(found.lock)
    ))
}

fn printable_lines(text: &str) -> String {
    text.lines().map(|line| printable(line) + "\n").collect()
}
