//! Snapshots: a target that is asked for a dump has its profile written, and goes on.

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use quipu_e2e::{ThreadCounts, Working, on_every_jdk, scratch};
use quipu_profile::Profile;

use crate::signals::{java, quipu, send, start};

/// The file, as soon as it is there. It is renamed to its name when it is whole.
fn awaited(path: &Path) -> Profile {
    let until = Instant::now() + Duration::from_secs(120);
    while !path.exists() {
        assert!(Instant::now() < until, "no {}", path.display());
        std::thread::sleep(Duration::from_millis(50));
    }
    Profile::load(path).expect("a profile")
}

fn calls(profile: &Profile) -> u64 {
    ThreadCounts::of(profile, |name| name == "main").method("Told", "work").calls
}

#[test]
fn sigquit_writes_the_profile_so_far_and_the_program_goes_on() {
    on_every_jdk(|jdk| {
        for kinds in [&["--exact"][..], &["--exact", "--cpu", "1000"]] {
            let directory = scratch("snapshots");
            let mut quipu = quipu();
            quipu.arg("run").args(kinds).arg("-o").arg(directory.join("app.quipu")).arg("--").args(java(jdk));
            let (mut child, mut out) = start(&mut quipu);
            let mut snapshots = Vec::new();
            for i in 1..=2 {
                send("QUIT", child.id());
                snapshots.push(calls(&awaited(&directory.join(format!("app-000{i}.quipu")))));
            }
            send("TERM", child.id());
            let (mut said, mut err) = (String::new(), String::new());
            out.read_to_string(&mut said).expect("text");
            child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("text");
            assert_eq!(child.wait().expect("it ends").code(), Some(128 + 15), "{err}");
            let all = calls(&Profile::load(directory.join("app.quipu")).expect("a profile"));
            assert!(
                0 < snapshots[0] && snapshots[0] < snapshots[1] && snapshots[1] < all,
                "{snapshots:?}, {all}"
            );
            // The VM's own dump is still there.
            assert_eq!(said.matches("Full thread dump").count(), 2, "{said}");
        }
    });
}

#[test]
fn a_jvm_that_is_attached_to_is_asked_with_jcmd_or_a_signal() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let directory = scratch("snapshots");
        let mut quipu = quipu();
        quipu.args(["attach", &working.id(), "--cpu", "1000", "-o"]).arg(directory.join("app.quipu"));
        let mut quipu = quipu.stderr(std::process::Stdio::piped()).spawn().expect("it starts");
        let pid: u32 = working.id().parse().expect("a number");
        let until = Instant::now() + Duration::from_secs(120);
        // One that comes before the attach is done asks for nothing.
        while !directory.join("app-0001.quipu").exists() {
            assert!(Instant::now() < until, "no snapshot");
            send("QUIT", pid);
            std::thread::sleep(Duration::from_millis(300));
        }
        assert!(awaited(&directory.join("app-0001.quipu")).metric("cpu").is_some());
        send("INT", quipu.id());
        let mut err = String::new();
        quipu.stderr.take().expect("a pipe").read_to_string(&mut err).expect("text");
        assert!(quipu.wait().expect("it ends").success(), "{err}");
        assert!(Profile::load(directory.join("app.quipu")).expect("a profile").metric("cpu").is_some());
        drop(working);
    });
}
