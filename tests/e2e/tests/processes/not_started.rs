//! Runs in which the agent could not start.

use std::path::PathBuf;
use std::process::Output;

use quipu_e2e::{Command, Jdk, classes, on_every_jdk, scratch, tools};

struct Outcome {
    output: Output,
    profile: PathBuf,
}

impl Outcome {
    fn of(jdk: &Jdk, options: &[&str], flags: &[&str], variable: &str) -> Outcome {
        let profile = scratch("not-started").join("out.quipu");
        let mut quipu = Command::new(&tools().quipu);
        quipu.arg("run").args(options).arg("-o").arg(&profile).arg("--").arg(jdk.home.join("bin/java"));
        quipu.args(flags).arg("-cp").arg(classes(jdk)).arg("Foo").current_dir(scratch("cwd"));
        let output = quipu.env("JAVA_TOOL_OPTIONS", variable).output().expect("it runs");
        Outcome { output, profile }
    }

    /// Nothing was measured, which is said, and nothing is written.
    fn assert_nothing_but(&self, why: &str) {
        let said = String::from_utf8_lossy(&self.output.stderr);
        assert_eq!(self.output.status.code(), Some(3), "{said}");
        assert!(said.contains(why), "{said}");
        assert!(!said.contains("quipu: wrote"), "{said}");
        assert!(!said.contains("is kept"), "{said}");
        assert!(!self.profile.exists());
    }

    fn assert_target_ran(&self) {
        assert!(String::from_utf8_lossy(&self.output.stdout).contains("1002000"), "{:?}", self.output);
    }
}

#[test]
fn a_jvm_that_does_not_come_up() {
    on_every_jdk(|jdk| {
        let archive = scratch("none").join("missing.jsa");
        let archive = format!("-XX:SharedArchiveFile={}", archive.display());
        let outcome = Outcome::of(jdk, &["--cpu"], &["-Xshare:on", &archive], "");
        // The one loads agents before it looks at the archive, the other after.
        let why = if jdk.feature < 25 { "ended before it was up" } else { "no JVM that could be profiled" };
        outcome.assert_nothing_but(why);
    });
}

/// Two agents, each with a runtime of the same name.
#[test]
fn a_jvm_in_which_another_agent_was_first() {
    on_every_jdk(|jdk| {
        let directory = scratch("other");
        let other = directory.join("libother.so");
        let library = tools().quipu.with_file_name("libquipu_agent.so");
        std::fs::copy(library, &other).expect("the library");
        let variable = format!("-agentpath:{}=exact,dir={}", other.display(), directory.display());
        let outcome = Outcome::of(jdk, &["--exact"], &[], &variable);
        outcome.assert_target_ran();
        outcome.assert_nothing_but("LinkageError");
    });
}

#[test]
fn an_arena_without_room() {
    on_every_jdk(|jdk| {
        let outcome = Outcome::of(jdk, &["--contexts", "none", "--arena-limit", "100k"], &[], "");
        outcome.assert_target_ran();
        outcome.assert_nothing_but("--arena-limit");
    });
}
