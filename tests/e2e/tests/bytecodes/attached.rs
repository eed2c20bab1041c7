//! Samples of a program that runs already.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use quipu_e2e::{classes, on_every_jdk, scratch, tools};
use quipu_profile::Profile;

/// A program that does not outlive a test that fails.
struct Target(Child);

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Exact before, samples, exact again: each profile has its own metrics and none of the other's counts.
#[test]
fn samples_come_and_go_with_attach() {
    on_every_jdk(|jdk| {
        let mut java = Command::new(jdk.home.join("bin/java"));
        java.arg("-cp").arg(classes(jdk)).arg("Working").current_dir(scratch("cwd"));
        java.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut target = Target(java.spawn().expect("java starts"));
        let child = &mut target.0;
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        out.read_line(&mut String::new()).expect("it works");
        let pid = child.id().to_string();
        let attach = |options: &[&str]| {
            let file = scratch("attached").join("out.quipu");
            let mut quipu = Command::new(&tools().quipu);
            quipu.args(["attach", &pid, "-d", "1"]).args(options).arg("-o").arg(&file);
            let said = quipu.output().expect("it runs").stderr;
            Profile::load(&file).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&said)))
        };
        let names = |profile: &Profile| -> Vec<String> {
            profile.metrics().iter().map(|metric| metric.name().to_owned()).collect()
        };
        let exact = attach(&[]);
        let sampled = attach(&["--bytecodes", "1000"]);
        let again = attach(&[]);
        assert_eq!(names(&exact), ["calls", "bytecodes"]);
        assert_eq!(names(&sampled), ["samples.bytecodes"]);
        assert_eq!(names(&again), ["calls", "bytecodes"]);
        assert!(sampled.metric("samples.bytecodes").expect("samples").total() > 100);
        child.stdin.take().expect("a pipe").write_all(b"\n").expect("it reads");
        let (mut said, mut err) = (String::new(), String::new());
        out.read_to_string(&mut said).expect("text");
        child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("text");
        assert!(child.wait().expect("it ends").success(), "{err}");
        assert_eq!(said.trim(), "done");
    });
}
