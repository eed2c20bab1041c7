//! Agents that come to a program that runs, and leave it again.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Output, Stdio};

use quipu_e2e::{Jdk, classes, on_every_jdk, scratch, tools};

use crate::jars::jar;

fn attach(jdk: &Jdk, child: &Child, agent: &str) -> Output {
    let mut quipu = Command::new(&tools().quipu);
    quipu.args(["attach", &child.id().to_string(), "-d", "1", "--agent"]);
    quipu.arg(format!("{}={agent}", jar(jdk).display()));
    quipu.arg("-o").arg(scratch("attached").join("out.quipu")).output().expect("it runs")
}

#[test]
fn an_agent_is_called_while_somebody_is_attached_and_told_when_he_leaves() {
    on_every_jdk(|jdk| {
        let mut java = Command::new(jdk.home.join("bin/java"));
        java.arg("-cp").arg(classes(jdk)).arg("Working").current_dir(scratch("cwd"));
        java.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = java.spawn().expect("java starts");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("it works");
        // Twice: the second agent is another object, in another class loader.
        for agent in ["Laws", "quipu.examples.MergedTree"] {
            let attached = attach(jdk, &child, agent);
            let said = String::from_utf8_lossy(&attached.stderr);
            assert!(attached.status.success() && said.contains("wrote"), "{said}");
        }
        child.stdin.take().expect("a pipe").write_all(b"\n").expect("it reads");
        let (mut said, mut err) = (String::new(), String::new());
        out.read_to_string(&mut said).expect("text");
        child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("text");
        assert!(child.wait().expect("it ends").success(), "{err}");
        assert_eq!((line.trim(), said.trim()), ("working", "done"));
        assert!(err.contains("laws hold: true, detached: true"), "{err}");
        assert!(err.contains("Working.work(I)V"), "{err}");
        assert!(!err.contains("failed"), "{err}");
    });
}
