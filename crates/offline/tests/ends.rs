//! However the program ends, and wherever it may write, it runs as it would and its profile is there.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use quipu_e2e::{Jdk, ThreadCounts, on_every_jdk, scratch};
use support::{Counted, compile, instrument, java, profile};

fn ends(jdk: &Jdk) -> Counted {
    instrument(jdk, &compile(jdk, &["--release", "8"], &["Ends.java"]), &[])
}

#[test]
fn halted_and_killed_programs_leave_their_profiles() {
    on_every_jdk(|jdk| {
        let counted = ends(jdk);
        for (how, status, in_hook) in
            [("return", Some(0), 50), ("exit", Some(3), 50), ("halt", Some(7), 0), ("kill", None, 0)]
        {
            let run = counted.run(jdk, &[], "ends.Ends", &[how]);
            assert_eq!(run.output.status.code(), status, "{how}: {}", run.stderr());
            assert_eq!(run.stderr(), "");
            let profile = run.profile();
            let work = |thread: &str| {
                ThreadCounts::of(&profile, |name| name == thread).method("ends.Ends", "work").calls
            };
            assert_eq!((work("main"), work("hook")), (100, in_hook), "{how}");
            let size = fs::metadata(&run.arena).unwrap().len();
            assert_eq!(size < 8 << 20, status != Some(7) && status.is_some(), "{how}: {size} bytes");
        }
    });
}

#[test]
fn threads_that_come_and_go_share_trees() {
    on_every_jdk(|jdk| {
        let run = ends(jdk).run(jdk, &[], "ends.Ends", &["threads", "10000"]);
        let profile = run.assert_quiet().profile();
        let threads = ThreadCounts::of(&profile, |name| name == "short-#");
        assert_eq!((threads.trees(), threads.threads()), (1, 10_000));
        assert_eq!(threads.method("ends.Ends", "work").calls, 10_000);
        assert!(fs::metadata(&run.arena).unwrap().len() < 8 << 20);
    });
}

#[test]
fn virtual_threads_have_trees_of_their_own() {
    on_every_jdk(|jdk| {
        if jdk.feature < 21 {
            return;
        }
        let counted = instrument(jdk, &quipu_e2e::classes(jdk), &[]);
        let run = counted.run(jdk, &[], "VirtualThreads", &["100000", "1000"]);
        let profile = run.assert_quiet().profile();
        let threads =
            profile.threads().iter().filter(|thread| thread.kind == quipu_profile::ThreadKind::Virtual);
        assert_eq!(threads.map(|thread| thread.threads).sum::<u64>(), 100_000);
        assert_eq!(ThreadCounts::of(&profile, |_| true).method("VirtualThreads", "work").calls, 100_000);
        assert!(profile.meta.lost.is_empty(), "{:?}", profile.meta.lost);
    });
}

#[test]
fn an_interrupted_thread_stays_interrupted() {
    on_every_jdk(|jdk| {
        let run = ends(jdk).run(jdk, &[], "ends.Ends", &["interrupted"]);
        assert_eq!(run.assert_quiet().stdout(), "true\n");
    });
}

#[test]
fn profiles_have_names_of_their_own() {
    on_every_jdk(|jdk| {
        let counted = ends(jdk);
        let here = scratch("named");
        let run = |flags: &[&str]| {
            let mut command = java(jdk, &counted.class_path());
            let child = command.args(flags).args(["ends.Ends", "return"]).current_dir(&here).spawn().unwrap();
            (child.id(), child.wait_with_output().unwrap())
        };
        let (pid, _) = run(&[]);
        assert!(here.join(format!("quipu-{pid}.arena")).is_file());
        let (pid, _) = run(&["-Dquipu.output=mine-%p.arena"]);
        let mine = here.join(format!("mine-{pid}.arena"));
        let main = profile(&mine);
        assert_eq!(main.run.pid, Some(pid));
        assert_eq!(fs::metadata(&mine).unwrap().permissions().mode() & 0o777, 0o600);
    });
}

#[test]
fn a_program_that_cannot_write_its_profile_runs_all_the_same() {
    on_every_jdk(|jdk| {
        let mut command = java(jdk, &ends(jdk).class_path());
        command.args(["-Dquipu.output=/proc/none/x.arena", "ends.Ends", "return"]);
        let output = command.output().unwrap();
        assert!(output.status.success());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.starts_with("quipu: not profiling: cannot make /proc/none/x.arena"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    });
}

#[test]
fn a_full_arena_is_said_so_in_the_profile() {
    on_every_jdk(|jdk| {
        let run = instrument(jdk, &quipu_e2e::classes(jdk), &[]).run(
            jdk,
            &["-Dquipu.limit=4m"],
            "Deep",
            &["100000", "0", "512"],
        );
        assert!(run.output.status.success(), "{}", run.stderr());
        assert!(run.profile().meta.lost.get("contexts.refused").is_some_and(|&n| n > 0));
    });
}
