//! Agents and many threads.

use quipu_e2e::{Program, Run, on_every_jdk};

use crate::jars::under;

fn registered(run: &Run) -> u64 {
    let line = run.stderr.lines().find_map(|line| line.strip_prefix("registered: "));
    line.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{}", run.said()))
}

#[test]
fn every_thread_is_registered() {
    on_every_jdk(|jdk| {
        let run = under("Counting", Program::new("ManyThreads").arguments(["64", "200", "6000"]), jdk);
        assert!((65..=72).contains(&registered(&run)), "{}", run.said());
        // The same work is the same number of activations in each.
        let workers = run.stderr.lines().filter_map(|line| line.strip_prefix("thread worker-"));
        let counts: Vec<&str> = workers.filter_map(|line| line.split(": ").nth(1)).collect();
        assert_eq!(counts.len(), 64, "{}", run.said());
        assert!(counts.iter().all(|count| *count == counts[0]), "{}", run.said());
        assert!(!counts[0].starts_with("0 "), "{}", run.said());
        assert_eq!(run.thread("worker-#").method("ManyThreads", "work").calls, 384_000);
    });
}

#[test]
fn a_busy_agent_does_not_change_what_threads_count() {
    on_every_jdk(|jdk| {
        let program = Program::new("PlatformThreads").arguments(["2000", "50"]).jvm(["-Dgranularity=200"]);
        let run = under("Busy", program, jdk);
        assert!((2_001..=2_010).contains(&registered(run.assert_whole())), "{}", run.said());
        assert_eq!(run.thread("short-#").method("PlatformThreads", "work").calls, 20_000);
    });
}

#[test]
fn virtual_threads_call_agents_as_themselves() {
    on_every_jdk(|jdk| {
        if jdk.feature < 21 {
            return;
        }
        let program = Program::new("Migrates").arguments(["100", "40"]).jvm(["-Dgranularity=300"]);
        let run = under("Busy", program, jdk);
        assert_eq!(run.assert_whole().thread("v-#").method("Migrates", "leaf").calls, 3 * 100 * 40);
        assert!((101..=110).contains(&registered(&run)), "{}", run.said());
        let program = Program::new("VirtualThreads").arguments(["10000", "1000"]).jvm(["-Dgranularity=1000"]);
        let run = under("Busy", program, jdk);
        assert_eq!(run.assert_whole().thread("[virtual]").method("VirtualThreads", "work").calls, 10_000);
        assert!((10_001..=10_010).contains(&registered(&run)), "{}", run.said());
    });
}
