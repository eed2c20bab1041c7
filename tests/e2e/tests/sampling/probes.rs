//! Probes that the JVM was built with, against what the VM tells of the same.

use quipu_e2e::{Jdk, Program, Shares, on_every_jdk};

const WAITERS: u64 = 4;
const ROUNDS: u64 = 20;
const ENTER: &str = "usdt:hotspot:monitor__contended__enter";

fn contended() -> Program {
    Program::new("Contended").arguments([
        "monitor".to_owned(),
        WAITERS.to_string(),
        ROUNDS.to_string(),
        "1".to_owned(),
    ])
}

/// Whether the JVM was built with probes.
fn has_probes(jdk: &Jdk) -> bool {
    ["lib/server/libjvm.so", "jre/lib/amd64/server/libjvm.so"].iter().any(|library| {
        std::fs::read(jdk.home.join(library)).is_ok_and(|bytes| {
            bytes.windows(ENTER.len()).any(|text| text.starts_with(b"monitor__contended__enter\0"))
        })
    })
}

/// As often as the VM tells of it (JVMTI), and in the same place; by breakpoints and by uprobes. The last is also told by
/// the program: each thread waits once in a round.
#[test]
fn a_probe_counts_what_the_vm_tells_of() {
    on_every_jdk(|jdk| {
        if !has_probes(jdk) {
            println!("skipped: no probes");
            return;
        }
        for event in [ENTER.to_owned(), format!("{ENTER}/uprobe")] {
            let run = contended().quipu_all(&["--event", &event, "--locks", "1ns"]).run(jdk);
            if event.ends_with("/uprobe") && run.stderr.contains("uprobes are for those with rights") {
                println!("skipped: {}", run.stderr);
                continue;
            }
            assert!(run.status.success(), "{}", run.said());
            let profile = run.profile();
            let hits = Shares::of(profile, &format!("event.{event}")).total("Contended", "enter");
            let waits = Shares::of(profile, "lock.count").total("Contended", "enter");
            assert_eq!((hits, waits), (WAITERS * ROUNDS, WAITERS * ROUNDS), "{event}: {}", run.said());
        }
    });
}

#[test]
fn a_probe_that_is_not_there_is_refused_with_those_that_are() {
    on_every_jdk(|jdk| {
        let run = contended().quipu_all(&["--event", "usdt:hotspot:no__such__probe"]).run(jdk);
        let said = &run.stderr;
        assert_eq!(run.status.code(), Some(3), "{said}");
        match has_probes(jdk) {
            true => assert!(
                said.contains("; hotspot has ") && said.contains(" class__loaded, class__unloaded, "),
                "{said}"
            ),
            false => assert!(said.contains("no library of the process has probes of hotspot"), "{said}"),
        }
    });
}
