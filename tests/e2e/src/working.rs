//! A program to attach to.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdout, Stdio};

use crate::child::{Child, Command};
use crate::{Jdk, classes, scratch};

/// A program that works until its input says otherwise. It does not outlive a test that fails.
pub struct Working {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Working {
    /// Starts it, and waits until it works.
    pub fn start(jdk: &Jdk) -> Working {
        Working::start_program(jdk, "Working")
    }

    /// Starts another program that works as it does, and waits until it works.
    pub fn start_program(jdk: &Jdk, main: &str) -> Working {
        Working::start_with(jdk, &[], main)
    }

    /// The same in a JVM with these flags.
    pub fn start_with(jdk: &Jdk, flags: &[&str], main: &str) -> Working {
        let mut java = Command::new(jdk.home.join("bin/java"));
        java.args(flags).arg("-cp").arg(classes(jdk)).arg(main).current_dir(scratch("cwd"));
        java.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = java.spawn().expect("java starts");
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut working = Working { child, out };
        working.hear();
        working
    }

    /// Has it leave what it is in, and enter it again, if it is one that knows `t`; waits until it has.
    pub fn turn(&mut self) {
        self.child.stdin.as_mut().expect("a pipe").write_all(b"t\n").expect("it reads");
        self.hear();
    }

    /// It says so when it works.
    fn hear(&mut self) {
        let mut line = String::new();
        self.out.read_line(&mut line).expect("it works");
        if line.trim() != "working" {
            let mut err = String::new();
            // It has not much more to say.
            let _ = self.child.kill();
            self.child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("text");
            panic!("{} instead of working; {err}", line.trim());
        }
    }

    /// Its process.
    pub fn id(&self) -> String {
        self.child.id().to_string()
    }

    /// Lets it end as it would have without anybody attached; returns what it wrote to standard error.
    pub fn finish(mut self) -> String {
        self.child.stdin.take().expect("a pipe").write_all(b"\n").expect("it reads");
        let (mut said, mut err) = (String::new(), String::new());
        self.out.read_to_string(&mut said).expect("text");
        self.child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("text");
        assert!(self.child.wait().expect("it ends").success(), "{err}");
        assert_eq!(said.trim(), "done", "{err}");
        err
    }
}
