//! Samples of a program that runs already.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use quipu_e2e::{Jdk, Shares, classes, on_every_jdk, percent, scratch, tools};
use quipu_profile::Profile;

/// A program that works until its input says otherwise.
pub struct Working {
    pub child: Child,
    out: BufReader<std::process::ChildStdout>,
}

impl Working {
    pub fn start(jdk: &Jdk) -> Working {
        let mut java = Command::new(jdk.home.join("bin/java"));
        java.arg("-cp").arg(classes(jdk)).arg("Working").current_dir(scratch("cwd"));
        java.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = java.spawn().expect("java starts");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("it works");
        assert_eq!(line.trim(), "working");
        Working { child, out }
    }

    pub fn id(&self) -> String {
        self.child.id().to_string()
    }

    /// It has noticed nothing.
    pub fn finish(mut self) {
        self.child.stdin.take().expect("a pipe").write_all(b"\n").expect("it reads");
        let (mut said, mut err) = (String::new(), String::new());
        self.out.read_to_string(&mut said).expect("text");
        self.child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("text");
        assert!(self.child.wait().expect("it ends").success(), "{err}");
        assert_eq!(said.trim(), "done", "{err}");
        assert!(!err.contains("quipu: "), "{err}");
    }
}

#[test]
fn threads_and_methods_that_were_there_before_have_names() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let mut last = None;
        // Twice: the second profile has nothing of the first.
        for _ in 0..2 {
            let file = scratch("attached").join("out.quipu");
            let mut quipu = Command::new(&tools().quipu);
            quipu.args(["attach", &working.id(), "--cpu", "1000", "-d", "1", "-o"]).arg(&file);
            let output = quipu.output().expect("it runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let profile = Profile::load(&file).expect("a profile");
            let cpu = Shares::of(&profile, "cpu");
            assert!(percent(cpu.thread("main"), cpu.sum()) > 50.0, "{:?}", cpu);
            assert!(percent(cpu.total("Working", "main"), cpu.thread("main")) > 90.0);
            let seconds = cpu.sum() as f64 / 1e9;
            assert!((0.1..4.0).contains(&seconds), "{seconds} s of CPU in one second");
            last = Some(profile.samples().len());
        }
        assert!(last > Some(0));
        working.finish();
    });
}

#[test]
fn files_are_written_one_after_the_other() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let directory = scratch("loop");
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(["attach", &working.id(), "--cpu", "1000", "-d", "1.5", "--loop", "0.5", "-o"]);
        let output = quipu.arg(directory.join("out.quipu")).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut shares = Vec::new();
        for i in 1..=3 {
            let profile = Profile::load(directory.join(format!("out-000{i}.quipu"))).expect("a profile");
            shares.push(Shares::of(&profile, "cpu").total("Working", "main"));
        }
        // Each has its own part: none has what all of them have.
        let sum: u64 = shares.iter().sum();
        assert!(shares.iter().all(|&share| percent(share, sum) > 5.0), "{shares:?}");
        working.finish();
    });
}

#[test]
fn hot_methods_are_shown_live() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(["top", &working.id(), "--every", "0.5", "--rounds", "2", "--rate", "1000"]);
        let output = quipu.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(said.matches("METHOD").count(), 2, "{said}");
        assert!(said.contains("  main\n") && said.contains("Working."), "{said}");
        working.finish();
    });
}
