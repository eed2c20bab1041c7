//! What is left behind in the target. Memory that the VM keeps for versions of classes is its own; docs/attach.md has
//! figures. What is ours must not grow.

use quipu_e2e::{Command, Jdk, on_every_jdk};
use quipu_profile::Profile;

use crate::steady::Steady;

/// What a process has of things that are easily left behind.
#[derive(Debug)]
struct Holds {
    descriptors: usize,
    threads: usize,
    mappings: usize,
    global_references: usize,
    metaspace_kilobytes: f64,
    arena_kilobytes: u64,
    resident_kilobytes: u64,
}

fn entries(pid: u32, directory: &str) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/{directory}")).expect("it lives").count()
}

fn ask(jdk: &Jdk, pid: u32, command: &str) -> String {
    let mut jcmd = Command::new(jdk.home.join("bin/jcmd"));
    let answer = jcmd.args([&pid.to_string(), command]).output().expect("jcmd runs");
    String::from_utf8_lossy(&answer.stdout).into_owned()
}

/// The VM says so at the end of a thread dump.
fn global_references(jdk: &Jdk, pid: u32) -> usize {
    let dump = ask(jdk, pid, "Thread.print");
    let line = dump.lines().find_map(|line| line.strip_prefix("JNI global refs: "));
    let number = line.and_then(|line| line.split(',').next()?.parse().ok());
    number.unwrap_or_else(|| panic!("no number of global references in {dump}"))
}

/// Metaspace that is in use. Old versions of classes stay until their compiled code is gone: on JDK 25 until the third collection,
/// on JDK 17 until it has been swept.
fn metaspace_kilobytes(jdk: &Jdk, pid: u32) -> f64 {
    for _ in 0..3 {
        ask(jdk, pid, "GC.run");
    }
    let answer = ask(jdk, pid, "VM.metaspace scale=KB");
    let number = |word: &str| word.parse::<f64>().ok();
    let in_use = || {
        let both = answer.lines().find_map(|line| line.trim().strip_prefix("Both:"))?;
        let used = both.split(',').find(|part| part.ends_with("used"))?;
        let free = both.split_once("blocks with ")?.1;
        Some(number(used.split_whitespace().next()?)? - number(free.split_whitespace().next()?)?)
    };
    in_use().unwrap_or_else(|| panic!("no metaspace in {answer}"))
}

/// Memory of its own that is in use.
fn resident_kilobytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).expect("a number")
}

fn arena_kilobytes(profile: &Profile) -> u64 {
    let said = profile.run.cost.iter().find_map(|cost| cost.strip_prefix("the arena took "));
    let number = said.and_then(|said| said.strip_suffix(" KB")?.parse().ok());
    number.unwrap_or_else(|| panic!("no size of the arena in {:?}", profile.run.cost))
}

/// Attaches so many times, counting and sampling in turns, by both clocks.
fn attach_in_turns(jdk: &Jdk, steady: &mut Steady, pairs: u32) -> Holds {
    let mut arena = 0;
    for _ in 0..pairs {
        arena = arena_kilobytes(&steady.attach(&["--exact"]));
        steady.attach(&["--cpu", "1000", "--wall", "100"]);
        steady.turn();
    }
    holds(jdk, steady, arena)
}

/// Attaches so many times with roots, of what runs and of what does not; threads are in them when it ends.
fn attach_with_roots(jdk: &Jdk, steady: &mut Steady, times: u32) -> Holds {
    let mut arena = 0;
    for time in 0..times {
        let scheme = if time % 2 == 0 { "lazy" } else { "eager" };
        let profile =
            steady.attach_for(&["--root", "Steady.even", "--root", "Steady.odd", "--scheme", scheme], "0.1");
        arena = arena_kilobytes(&profile);
        assert!(profile.metric("calls").is_some_and(|calls| calls.total() > 0), "{time}");
        steady.turn();
    }
    holds(jdk, steady, arena)
}

fn holds(jdk: &Jdk, steady: &Steady, arena: u64) -> Holds {
    let pid = steady.pid();
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("it lives");
    Holds {
        descriptors: entries(pid, "fd"),
        threads: entries(pid, "task"),
        mappings: maps.lines().count(),
        global_references: global_references(jdk, pid),
        metaspace_kilobytes: metaspace_kilobytes(jdk, pid),
        arena_kilobytes: arena,
        // After the collections that metaspace asked for.
        resident_kilobytes: resident_kilobytes(pid),
    }
}

/// Pairs of attaches whose growth is looked at.
const MORE: u32 = 12;
/// Kilobytes of metaspace that may be in use more after that: it goes up and comes down again by about as much (docs/attach.md).
const MOST_METASPACE: f64 = 4096.0;
/// Kilobytes of memory. The VM itself takes up to 400 a pair in the long run, and more at first (docs/attach.md): 3 MB in all were seen
/// on JDK 17, 9 MB on JDK 25.
const MOST_RESIDENT: u64 = 16_384;

#[test]
fn attaching_again_and_again_leaves_nothing_more_behind() {
    on_every_jdk(|jdk| {
        // The heap is all there from the beginning, so that what grows is something else.
        let mut steady = Steady::start_with(jdk, &["-Xms32m", "-Xmx32m", "-XX:+AlwaysPreTouch"]);
        let before = attach_in_turns(jdk, &mut steady, 5);
        let after = attach_in_turns(jdk, &mut steady, MORE);
        let what = format!("JDK {}: {before:?}, then {after:?}", jdk.feature);
        println!("{what}");
        // The VM starts and ends compiler threads, each with a stack and a reference or two, and grows its own memory.
        assert!(after.descriptors <= before.descriptors + 2, "{what}");
        assert!(after.threads <= before.threads + 4, "{what}");
        assert!(after.global_references <= before.global_references + 8, "{what}");
        assert!(after.mappings <= before.mappings + 40, "{what}");
        // Old versions do not stay: twenty-four of each class would be fifty megabytes.
        assert!(after.metaspace_kilobytes <= before.metaspace_kilobytes + MOST_METASPACE, "{what}");
        let resident = after.resident_kilobytes.saturating_sub(before.resident_kilobytes);
        assert!(resident <= MOST_RESIDENT, "{what}");
        // Each profile tells anew what VM it is and which threads there are, and may meet a context that none has met before:
        // less than a kilobyte, but arenas grow by 256.
        assert!(after.arena_kilobytes <= before.arena_kilobytes + 512, "{what}");
        steady.finish();
    });
}

/// Attaches with roots whose growth is looked at; another number for longer runs.
const MORE_ROOTS: u32 = 190;
/// Kilobytes of memory for each of them that the VM keeps on JDK 25: 74 were seen, and 3 on JDK 17 (docs/attach.md).
const MOST_RESIDENT_EACH: u64 = 128;
const ROOTS_VARIABLE: &str = "QUIPU_E2E_ROOTS";

#[test]
fn roots_again_and_again_leave_nothing_more_behind() {
    let more = std::env::var(ROOTS_VARIABLE).map_or(MORE_ROOTS, |text| text.parse().expect("a number"));
    on_every_jdk(|jdk| {
        let mut steady = Steady::start_with(jdk, &["-Xms32m", "-Xmx32m", "-XX:+AlwaysPreTouch"]);
        let before = attach_with_roots(jdk, &mut steady, 10);
        let after = attach_with_roots(jdk, &mut steady, more);
        let what = format!("JDK {}: {before:?}, then after {more} more {after:?}", jdk.feature);
        println!("{what}");
        assert!(after.descriptors <= before.descriptors + 2, "{what}");
        assert!(after.threads <= before.threads + 4, "{what}");
        assert!(after.global_references <= before.global_references + 8, "{what}");
        assert!(after.mappings <= before.mappings + 40, "{what}");
        assert!(after.metaspace_kilobytes <= before.metaspace_kilobytes + MOST_METASPACE, "{what}");
        let resident = after.resident_kilobytes.saturating_sub(before.resident_kilobytes);
        assert!(resident <= MOST_RESIDENT + MOST_RESIDENT_EACH * u64::from(more), "{what}");
        // A thousand attaches were seen to take one step of 512.
        assert!(after.arena_kilobytes <= before.arena_kilobytes + 512 + u64::from(more), "{what}");
        steady.finish();
    });
}
