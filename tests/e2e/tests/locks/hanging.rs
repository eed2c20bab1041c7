//! Threads that never get what they wait for.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use quipu_e2e::{Command, Working, classes, on_every_jdk, scratch, tools};
use quipu_profile::Profile;

use super::of_lock;

/// They have waited until nobody looked any more. Which monitor it is that a thread waits for already is not known.
fn assert_hangs(profile: &Profile, hang_before: bool) {
    for (lock, method) in [
        ("Hangs$Monitor", "Hangs.enter"),
        ("java.util.concurrent.locks.ReentrantLock$NonfairSync", "Hangs.lock"),
    ] {
        let tree = profile.tree();
        let is_named = lock != "Hangs$Monitor" || !hang_before;
        let waited = |metric: &str| {
            if is_named {
                return of_lock(profile, metric, lock, method);
            }
            let values = profile.metric(metric).expect("a metric").values();
            let waits = |node: &u32| tree.method(*node).is_some_and(|of| profile.method_name(of) == method);
            (0..tree.len() as u32).filter(waits).map(|node| values[node as usize]).sum()
        };
        assert_eq!(waited("lock.count"), 1, "{lock}");
        let time = waited("lock.time");
        assert!(time >= 50_000_000, "{lock}: {time} ns of 100 ms and more");
        if is_named {
            assert_eq!(of_lock(profile, "lock.blocked", lock, "Hangs.main"), time, "{lock}");
        }
        let is_it = |event: &&quipu_profile::Event| {
            let at = |node| tree.method(node).is_some_and(|of| profile.method_name(of) == method);
            profile.str(event.name) == "lock.wait" && tree.path(event.node).into_iter().any(at)
        };
        assert_eq!(profile.events().iter().filter(is_it).map(|event| event.duration).sum::<u64>(), time);
    }
}

#[test]
fn who_still_waits_when_a_profile_ends_has_waited() {
    on_every_jdk(|jdk| {
        // Those that hang already when the profile begins are seen, too.
        for hangs_before in [false, true] {
            let mut program = Working::start_program(jdk, "Hangs");
            let file = scratch("hanging").join("out.quipu");
            let name = file.to_str().expect("a name");
            if hangs_before {
                program.turn();
            }
            for words in [&["start", "locks"][..], &["stop"], &["dump", "-o", name]] {
                let output = Command::new(&tools().quipu).args(["ctl", &program.id()]).args(words).output();
                let output = output.expect("it runs");
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                match (words[0], hangs_before) {
                    ("start", false) => program.turn(),
                    ("start", true) => std::thread::sleep(Duration::from_millis(110)),
                    _ => {}
                }
            }
            assert_hangs(&Profile::load(&file).expect("a profile"), hangs_before);
            program.finish();
        }
    });
}

#[test]
fn who_still_waits_when_the_program_is_told_to_end_has_waited() {
    on_every_jdk(|jdk| {
        let file = scratch("hanging").join("out.quipu");
        let mut quipu = Command::new("env");
        quipu.arg("--default-signal").arg(&tools().quipu).args(["run", "--locks", "-o"]).arg(&file).arg("--");
        quipu.arg(jdk.home.join("bin/java")).arg("-cp").arg(classes(jdk)).args(["Hangs", "at once"]);
        quipu.current_dir(scratch("cwd")).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = quipu.spawn().expect("it starts");
        // Its input must not end before it does.
        let input = child.stdin.take();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        out.read_line(&mut line).expect("it works");
        assert_eq!(line.trim(), "working");
        let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
        assert_eq!(child.wait().expect("it ends").code(), Some(128 + 15));
        drop(input);
        assert_hangs(&Profile::load(&file).expect("a profile"), false);
    });
}
