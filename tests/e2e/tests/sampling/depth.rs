//! Many threads and deep stacks.

use quipu_e2e::{Program, Shares, percent};

use crate::cpu::assert_nearly_whole;

fn deep(threads: &str, depth: &str, millis: &str) {
    let program = Program::new("DeepThreads").arguments([threads, depth, millis]);
    program.quipu(["--cpu", "1000", "--arena-limit", "1G"]).on_every_jdk(|run| {
        assert_nearly_whole(run);
        let profile = run.profile();
        let depth: u32 = depth.parse().expect("a number");
        assert!(profile.tree().depths().into_iter().max() > Some(depth), "whole stacks");
        let cpu = Shares::of(profile, "cpu");
        assert!(percent(cpu.total("DeepThreads", "down"), cpu.sum()) > 50.0);
    });
}

/// Two hundred threads for a minute in the full run (`QUIPU_FULL=1`).
#[test]
fn deep_stacks_are_whole() {
    match std::env::var_os("QUIPU_FULL") {
        Some(_) => deep("200", "2000", "60000"),
        None => deep("20", "2000", "1500"),
    }
}
