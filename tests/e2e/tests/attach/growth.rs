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
    let pid = steady.pid();
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("it lives");
    Holds {
        descriptors: entries(pid, "fd"),
        threads: entries(pid, "task"),
        mappings: maps.lines().count(),
        global_references: global_references(jdk, pid),
        metaspace_kilobytes: metaspace_kilobytes(jdk, pid),
        arena_kilobytes: arena,
    }
}

#[test]
fn attaching_again_and_again_leaves_nothing_more_behind() {
    on_every_jdk(|jdk| {
        let mut steady = Steady::start(jdk);
        let before = attach_in_turns(jdk, &mut steady, 5);
        let after = attach_in_turns(jdk, &mut steady, 20);
        let what = format!("JDK {}: {before:?}, then {after:?}", jdk.feature);
        println!("{what}");
        // The VM starts and ends compiler threads, each with a stack and a reference or two, and grows its own memory.
        assert!(after.descriptors <= before.descriptors + 2, "{what}");
        assert!(after.threads <= before.threads + 4, "{what}");
        assert!(after.global_references <= before.global_references + 8, "{what}");
        assert!(after.mappings <= before.mappings + 40, "{what}");
        // Old versions do not stay: forty of each class would be a hundred megabytes.
        assert!(after.metaspace_kilobytes <= before.metaspace_kilobytes + 8192.0, "{what}");
        // Each profile tells anew what VM it is and which threads there are, and may meet a context that none has met before:
        // less than a kilobyte, but arenas grow by 256.
        assert!(after.arena_kilobytes <= before.arena_kilobytes + 512, "{what}");
        steady.finish();
    });
}
