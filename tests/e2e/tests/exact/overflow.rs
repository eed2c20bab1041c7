//! Exceptions at instructions where nobody expects one: stacks that run out in hundreds of threads at once, and threads that
//! are stopped from outside. Whatever is left half done, the others go on, and count right.

use quipu_e2e::{Program, Run, ThreadCounts, on_all_jdks, on_every_jdk};
use quipu_kinds::CALLS;

const THREADS: u64 = 200;
const TIMES: u64 = 3;

/// JDKs that all tests run on.
const ABOVE: [u32; 2] = [17, 25];

const STOPPED: u64 = 300;
const STEPS: u64 = 200_000;

fn assert_undamaged(run: &Run) {
    assert!(run.status.success(), "{}", run.said());
    let lost = &run.profile().meta.lost;
    assert!(lost.keys().all(|what| !what.starts_with("arena.damaged")), "lost {lost:?}; {}", run.said());
}

/// What threads do behind their overflows is counted, all of it.
fn assert_counts_later(run: &Run) {
    if run.profile().metric("calls").is_none() {
        return;
    }
    let threads = ThreadCounts::of(run.profile(), |name| name.starts_with("overflow-"));
    assert_eq!(threads.method("Overflows", "later").calls, THREADS, "{}", run.said());
    assert_eq!(threads.method("Overflows", "step").calls, 100 * THREADS, "{}", run.said());
}

/// Runs out of stack everywhere, with these options of `quipu run`, in compiled code and in the interpreter.
fn overflow<const N: usize>(options: [&str; N]) {
    for flag in ["-Xmixed", "-Xint"] {
        let program = Program::new("Overflows").arguments([THREADS.to_string(), TIMES.to_string()]);
        program.quipu(options).jvm([flag]).on_every_jdk(|run| {
            assert_undamaged(run);
            assert_eq!(run.stdout.trim(), format!("{} overflows", THREADS * TIMES), "{options:?} {flag}");
            // Without contexts, what was not to be counted when the stack ran out may stay so for the thread.
            if !options.contains(&"none") {
                assert_counts_later(run);
            }
        });
    }
}

#[test]
fn overflows_of_threads_whose_calls_and_events_are_sampled_end() {
    let program = Program::new("Overflows").arguments([THREADS.to_string(), TIMES.to_string()]);
    let program = program.quipu(["--calls", "--tick", "10ms", "--event", "page-faults"]).since(CALLS.since);
    program.on_every_jdk(|run| {
        assert_undamaged(run);
        assert_eq!(run.stdout.trim(), format!("{} overflows", THREADS * TIMES));
    });
}

#[test]
fn overflows_of_counted_threads_end() {
    overflow(["--exact"]);
}

#[test]
fn overflows_of_threads_counted_without_contexts_end() {
    overflow(["--exact", "--contexts", "none"]);
}

#[test]
fn overflows_of_threads_counted_in_the_application_end() {
    overflow(["--exact", "--contexts", "app"]);
}

#[test]
fn overflows_of_threads_sampled_by_bytecodes_end() {
    overflow(["--bytecodes", "1000"]);
}

#[test]
fn overflows_of_threads_counted_and_sampled_end() {
    overflow(["--exact", "--cpu", "1000"]);
}

#[test]
fn overflows_of_threads_whose_objects_and_waits_are_told_end() {
    overflow(["--alloc", "4K", "--locks", "1ns", "--timeline"]);
}

#[test]
fn overflows_of_counted_threads_whose_objects_and_waits_are_told_end() {
    overflow(["--exact", "--alloc", "all", "--locks", "all"]);
}

#[test]
fn overflows_of_threads_whose_objects_and_locks_are_counted_end() {
    overflow(["--alloc", "all", "--locks", "all"]);
}

#[test]
fn overflows_of_threads_that_are_sampled_in_every_way_end() {
    overflow(["--cpu", "1000", "--wall", "200", "--alloc", "4K", "--live", "8K"]);
}

/// With an archive that must be used, threads are found in a table, as after an attach, and not by a field of their own.
#[test]
fn overflows_of_counted_threads_without_fields_end() {
    let program = Program::new("Overflows").arguments([THREADS.to_string(), TIMES.to_string()]);
    // Nor can the archive be used where its classes are to be verified.
    let flags = ["-XX:-BytecodeVerificationLocal", "-Xshare:on"];
    program.quipu(["--exact"]).jvm(flags).on_every_jdk(|run| {
        assert!(run.stderr.contains("counting without fields in Thread"), "{}", run.said());
        assert_undamaged(run);
        assert_eq!(run.stdout.trim(), format!("{} overflows", THREADS * TIMES));
    });
}

/// The tests above are for two JDKs; here is every kind on the others.
#[test]
fn overflows_end_on_every_jdk() {
    const KINDS: [&[&str]; 4] = [
        &["--exact", "--alloc", "all", "--locks", "all"],
        &["--bytecodes", "1000"],
        &["--root", "Overflows.*"],
        &["--cpu", "1000", "--wall", "200", "--locks", "1ns", "--timeline"],
    ];
    /// Since the VM samples objects.
    const SAMPLES: u32 = 11;
    on_all_jdks(|jdk| {
        if ABOVE.contains(&jdk.feature) {
            return;
        }
        for kinds in KINDS {
            let more: &[&str] = match kinds.contains(&"--cpu") && jdk.feature >= SAMPLES {
                true => &["--alloc", "4K", "--live", "8K"],
                false => &[],
            };
            for flag in ["-Xmixed", "-Xint"] {
                let program = Program::new("Overflows").arguments([THREADS.to_string(), "1".to_owned()]);
                let run = program.quipu_all(kinds).quipu_all(more).jvm([flag]).run(jdk);
                assert_undamaged(&run);
                assert_eq!(run.stdout.trim(), format!("{THREADS} overflows"), "{kinds:?} {flag}");
            }
        }
    });
}

/// Newer JDKs have no way to stop a thread; they are told of.
#[test]
fn threads_stopped_at_any_instruction_leave_the_counts_of_others_alone() {
    on_every_jdk(|jdk| {
        let kinds: [(&str, &[&str]); 4] = [
            ("-Xmixed", &["--exact"]),
            ("-Xint", &["--exact"]),
            ("-Xmixed", &["--exact", "--alloc=all", "--locks=all", "--cpu=1000"]),
            ("-Xmixed", &["--exact", "--contexts=none", "--wall=200"]),
        ];
        for (flag, kinds) in kinds {
            let program = Program::new("Stopped").arguments([STOPPED.to_string(), STEPS.to_string()]);
            let run = program.quipu_all(kinds).jvm([flag]).run(jdk);
            assert_undamaged(&run);
            if run.stdout.starts_with("refused: java.lang.UnsupportedOperationException") {
                assert!(jdk.feature >= 20, "{}", run.said());
                println!("skipped: JDK {} stops no thread", jdk.feature);
                return;
            }
            assert_eq!(run.stdout.trim(), format!("{STOPPED} stopped"));
            for name in ["steady", "later"] {
                let thread = run.thread(name);
                assert_eq!(thread.method("Stopped", "steady").calls, 4, "{name} {flag}");
                assert_eq!(thread.method("Stopped", "step").calls, 4 * STEPS, "{name} {flag}");
                if kinds.contains(&"--contexts=none") {
                    continue;
                }
                let path = ["Stopped.steady", "Stopped.step"];
                assert_eq!(thread.path(&path).calls, 4 * STEPS, "{name} {flag}");
            }
        }
    });
}
