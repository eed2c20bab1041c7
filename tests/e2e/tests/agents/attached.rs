//! Agents that come to a program that runs, and leave it again.

use std::process::Output;

use quipu_e2e::{Command, Jdk, Working, on_every_jdk, scratch, tools};

use crate::jars::jar;

fn attach(jdk: &Jdk, working: &Working, agent: &str) -> Output {
    let mut quipu = Command::new(&tools().quipu);
    quipu.args(["attach", &working.id(), "-d", "1", "--agent"]);
    quipu.arg(format!("{}={agent}", jar(jdk).display()));
    quipu.arg("-o").arg(scratch("attached").join("out.quipu")).output().expect("it runs")
}

#[test]
fn an_agent_is_called_while_somebody_is_attached_and_told_when_it_ends() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let without = attach(jdk, &working, "Nope");
        let said = String::from_utf8_lossy(&without.stderr);
        assert_eq!(without.status.code(), Some(3), "{said}");
        assert!(said.contains("wrote") && said.contains("the agent Nope could not be made"), "{said}");
        // Twice: the second agent is another object, in another class loader.
        for agent in ["Laws", "quipu.examples.MergedTree"] {
            let attached = attach(jdk, &working, agent);
            let said = String::from_utf8_lossy(&attached.stderr);
            assert!(attached.status.success() && said.contains("wrote"), "{said}");
        }
        let err = working.finish();
        assert!(err.contains("laws hold: true, detached: true"), "{err}");
        assert!(err.contains("Working.work(I)V"), "{err}");
        assert!(!err.contains("failed and is switched off"), "{err}");
    });
}
