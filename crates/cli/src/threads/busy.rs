//! How much CPU time each thread uses just now, from what the kernel counts.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use quipu_threads::Dump;

/// Looks at the threads of a process for a while, and says of each how much of a processor it used.
pub fn watch(pid: u32, time: Duration, dump: &mut Dump) {
    let (before, began) = (used(pid), Instant::now());
    std::thread::sleep(time);
    let (after, took) = (used(pid), began.elapsed().as_secs_f64());
    for thread in &mut dump.threads {
        let Some(id) = thread.native_id else { continue };
        let Some(now) = after.get(&id) else { continue };
        // One that has begun since then has used all of it since.
        let then = before.get(&id).copied().unwrap_or(0.0);
        thread.cpu_now = Some(((now - then) / took).max(0.0));
    }
}

/// Seconds of CPU time of each thread, by its number in the process's own namespace.
fn used(pid: u32) -> HashMap<u64, f64> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return HashMap::new() };
    tasks
        .flatten()
        .filter_map(|task| {
            let inner = number_inside(&fs::read_to_string(task.path().join("status")).ok()?)?;
            let schedstat = fs::read_to_string(task.path().join("schedstat")).ok()?;
            let nanos: f64 = schedstat.split_whitespace().next()?.parse().ok()?;
            Some((inner, nanos / 1e9))
        })
        .collect()
}

/// The innermost of a thread's numbers, the last in the line.
fn number_inside(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().next_back()?.parse().ok()
}
