//! What people are told when something is not done.

use quipu_e2e::{Command, Working, on_every_jdk, scratch, tools};

/// Runs `quipu` in a directory of its own; its status and what it said.
fn quipu(arguments: &[&str]) -> (Option<i32>, String) {
    let mut quipu = Command::new(&tools().quipu);
    let output = quipu.args(arguments).current_dir(scratch("refused")).output().expect("it runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_refused_attach_says_why() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let pid = working.id();
        assert_eq!(quipu(&["ctl", &pid, "start", "cpu"]).0, Some(0));
        let (status, said) = quipu(&["attach", &pid, "-d", "1"]);
        assert_eq!(status, Some(3), "{said}");
        assert!(said.contains("a profile is being taken already"), "{said}");
        // It was told to who asked, and to nobody else.
        let err = working.finish();
        assert!(!err.contains("quipu: "), "{err}");
    });
}

/// What is told of calls must be asked for before the VM runs. Kinds that were begun before that one is refused are ended.
#[test]
fn of_kinds_that_are_asked_for_together_all_are_begun_or_none() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let pid = working.id();
        for keep in [&[][..], &["--keep"]] {
            let (status, said) = quipu(&[&["attach", &pid, "--exact", "--calls", "-d", "1"], keep].concat());
            assert_eq!(status, Some(3), "{said}");
            let (status, said) = quipu(&["attach", &pid, "-d", "0.2"]);
            assert_eq!(status, Some(0), "{said}");
        }
        let ctl = |words: &[&str]| {
            let mut quipu = Command::new(&tools().quipu);
            let output = quipu.args(["ctl", "--json", &pid]).args(words).output().expect("it runs");
            (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
        };
        assert!(ctl(&["start", "cpu"]).0);
        assert!(!ctl(&["start", "exact", "wall", "calls"]).0);
        let facts: serde_json::Value = serde_json::from_str(&ctl(&["status"]).1).expect("JSON");
        assert_eq!([&facts["cpu"], &facts["exact"], &facts["wall"]], ["100", "off", "off"], "{facts}");
        assert!(ctl(&["stop"]).0);
        working.finish();
    });
}

#[test]
fn unknown_kinds_are_answered_with_the_known_ones() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let (status, said) = quipu(&["ctl", &working.id(), "start", "foo"]);
        assert_eq!(status, Some(2), "{said}");
        for kind in ["exact", "cpu", "wall"] {
            assert!(said.contains(kind), "{said}");
        }
        working.finish();
    });
}

/// The first process is no JVM wherever tests run; if it is not to be seen, that is not for a lack of rights to it.
#[test]
fn a_process_that_is_no_jvm_is_not_said_to_be_somebody_elses() {
    let (status, said) = quipu(&["attach", "1", "-d", "1"]);
    assert_eq!(status, Some(3), "{said}");
    let is_root =
        std::fs::metadata("/proc/self").is_ok_and(|us| std::os::unix::fs::MetadataExt::uid(&us) == 0);
    if is_root {
        assert!(!said.contains("belongs to user"), "{said}");
        assert!(said.contains("is not a JVM") || said.contains("the kernel protects it"), "{said}");
    }
    let (status, said) = quipu(&["attach", &std::process::id().to_string()]);
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("is not a JVM"), "{said}");
}
