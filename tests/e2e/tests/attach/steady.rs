//! A program that does the same thing for ever, with one set of methods or, after a turn, with another.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdout, Stdio};
use std::time::Duration;

use quipu_e2e::{Child, Command, Jdk, classes, scratch, tools};
use quipu_profile::Profile;

/// Long enough for a busy thread to be sampled on a machine that is busy with other things.
const DURATION: &str = "0.4";

/// The program. It does not outlive a test that fails.
pub struct Steady {
    child: Child,
    out: BufReader<ChildStdout>,
    turns: u32,
}

impl Steady {
    pub fn start(jdk: &Jdk) -> Steady {
        Steady::start_with(jdk, &[])
    }

    pub fn start_with(jdk: &Jdk, flags: &[&str]) -> Steady {
        let mut java = Command::new(jdk.home.join("bin/java"));
        // It lives through more than a hundred attaches, on a machine that may do other things as well.
        java.patience(Duration::from_secs(1800));
        java.arg("-XX:+UseSerialGC")
            .args(flags)
            .arg("-cp")
            .arg(classes(jdk))
            .arg("Steady")
            .current_dir(scratch("cwd"));
        // What the VM says of agents that come late is not read.
        java.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = java.spawn().expect("java starts");
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut steady = Steady { child, out, turns: 0 };
        steady.hear("working");
        steady
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What the names of the methods begin with that it runs, and of those that it does not.
    pub fn methods(&self) -> (&'static str, &'static str) {
        if self.turns.is_multiple_of(2) { ("even", "odd") } else { ("odd", "even") }
    }

    /// All its threads run the other methods when this returns.
    pub fn turn(&mut self) {
        self.say("turn");
        self.hear("working");
        self.turns += 1;
    }

    /// Attaches for a moment.
    pub fn attach(&self, options: &[&str]) -> Profile {
        self.attach_for(options, DURATION)
    }

    /// Attaches for so many seconds.
    pub fn attach_for(&self, options: &[&str], seconds: &str) -> Profile {
        let file = scratch("attached").join("out.quipu");
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(["attach", &self.pid().to_string()]).args(options).args(["-d", seconds, "-o"]).arg(&file);
        let output = quipu.output().expect("it runs");
        assert!(output.status.success(), "{options:?}: {}", String::from_utf8_lossy(&output.stderr));
        Profile::load(&file).expect("a profile")
    }

    pub fn finish(mut self) {
        self.say("end");
        self.hear("done");
        assert!(self.child.wait().expect("it ends").success());
    }

    fn say(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().expect("a pipe"), "{line}").expect("it reads");
    }

    fn hear(&mut self, expected: &str) {
        let mut line = String::new();
        self.out.read_line(&mut line).expect("it works");
        assert_eq!(line.trim(), expected);
    }
}

impl Drop for Steady {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
