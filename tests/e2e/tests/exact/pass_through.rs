//! The target's input, output and exit status are its own.

use std::os::unix::process::ExitStatusExt;

use quipu_e2e::{Program, on_every_jdk};

/// Everything but the profiler's own words, which start with its name.
fn without_ours(stderr: &str) -> String {
    stderr.lines().filter(|line| !line.starts_with("quipu: ")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn input_output_and_status_pass_through() {
    let input: Vec<u8> = (0..100_000u32).flat_map(|n| n.to_le_bytes()).collect();
    on_every_jdk(|jdk| {
        for (how, status) in [("return", 0), ("exit", 3), ("throw", 1), ("halt", 7)] {
            let program = Program::new("PassThrough").arguments([how, "a b", "ü", ""]).input(&input);
            let alone = program.run_without_profiler(jdk, &[]);
            let run = program.run(jdk);
            assert_eq!(run.status.code(), Some(status), "{}", run.stderr);
            assert_eq!(run.status.code(), alone.status.code());
            assert_eq!(run.stdout, String::from_utf8_lossy(&alone.stdout));
            assert_eq!(without_ours(&run.stderr), String::from_utf8_lossy(&alone.stderr));
            assert_eq!(run.thread("main").method("PassThrough", "main").calls, 1);
        }
    });
}

/// What a killed target counted until then is in its profile, and the status is a shell's for a killed program.
#[test]
fn a_killed_target_leaves_its_profile() {
    Program::new("KillsItself").on_every_jdk(|run| {
        assert_eq!(run.status.signal(), None, "{}", run.stderr);
        assert_eq!(run.status.code(), Some(128 + 9), "{}", run.stderr);
        assert_eq!(run.thread("main").method("KillsItself", "work").calls, 5_000);
    });
}
