//! Snapshots: a target that is asked for a dump has its profile written, and goes on.

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use quipu_e2e::{Command, ThreadCounts, Working, on_every_jdk, scratch};
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

/// Everything that `--exact` does not exclude is in it, too.
const KINDS: [&str; 5] = ["--bytecodes=1000", "--wall=100", "--alloc=4K", "--locks=1ns", "--timeline"];

fn assert_has_all_kinds(profile: &Profile) {
    for metric in ["samples.bytecodes", "wall", "alloc.bytes", "lock.time"] {
        let total = profile.metric(metric).map(|metric| metric.total());
        assert!(total.is_some_and(|total| total > 0), "{metric}: {total:?}");
    }
    assert!(!profile.events().is_empty(), "no timeline");
}

/// Whatever asks the VM for a dump: the signal, or `jcmd`.
#[test]
fn a_jvm_that_is_attached_to_is_asked_with_jcmd_or_a_signal() {
    on_every_jdk(|jdk| {
        let working = Working::start_with(jdk, &[], "Mixed");
        let directory = scratch("snapshots");
        let mut quipu = quipu();
        quipu.args(["attach", &working.id()]).args(KINDS).arg("-o").arg(directory.join("app.quipu"));
        let mut quipu = quipu.stderr(std::process::Stdio::piped()).spawn().expect("it starts");
        let jcmd = || {
            let mut jcmd = Command::new(jdk.home.join("bin/jcmd"));
            let output = jcmd.args([&working.id(), "JVMTI.data_dump"]).output().expect("jcmd runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        };
        let signal = || send("QUIT", working.id().parse().expect("a number"));
        for (file, ask) in [("app-0001.quipu", &jcmd as &dyn Fn()), ("app-0002.quipu", &signal)] {
            let until = Instant::now() + Duration::from_secs(120);
            // One that comes before the attach is done asks for nothing.
            while !directory.join(file).exists() {
                assert!(Instant::now() < until, "no snapshot");
                ask();
                std::thread::sleep(Duration::from_millis(500));
            }
        }
        assert_has_all_kinds(&awaited(&directory.join("app-0002.quipu")));
        // The one that attached has a terminal of its own, in which Ctrl-\ means the same.
        let asked =
            (3..).take_while(|i| directory.join(format!("app-{i:04}.quipu")).exists()).last().unwrap_or(2);
        send("QUIT", quipu.id());
        assert_has_all_kinds(&awaited(&directory.join(format!("app-{:04}.quipu", asked + 1))));
        send("INT", quipu.id());
        let mut err = String::new();
        quipu.stderr.take().expect("a pipe").read_to_string(&mut err).expect("text");
        assert!(quipu.wait().expect("it ends").success(), "{err}");
        assert_has_all_kinds(&Profile::load(directory.join("app.quipu")).expect("a profile"));
        drop(working);
    });
}
