//! Events that the kernel and the processor count, against programs that cause a known number of them.

use quipu_e2e::{
    Command, Jdk, Program, Run, Shares, Working, classes, on_every_jdk, percent, scratch, tools,
};
use quipu_profile::Profile;
use serde_json::Value;

use crate::attached::finish;

const PAGES: u64 = 2000;
const CALLS: u64 = 1000;
const SLEEPS: u64 = 300;

/// A program that does everything so often, each on its own thread.
fn touches() -> Program {
    Program::new("Touches").arguments([PAGES, CALLS, SLEEPS, 1].map(|n| n.to_string()))
}

fn done(run: &Run) -> &Profile {
    assert!(run.status.success() && run.stdout.trim() == "done", "{}", run.said());
    run.profile()
}

/// All pages that were touched are there, at the methods that touched them; next to nothing else is.
fn assert_faults(profile: &Profile) {
    let faults = Shares::of(profile, "event.page-faults");
    let parts = [("threeParts", 3 * PAGES), ("onePart", PAGES)];
    for (method, truth) in parts {
        let found = faults.total("Touches", method);
        // A signal comes a moment after its event.
        assert!((truth - 5..=truth + truth / 50 + 5).contains(&found), "{method}: {found} of {truth}");
    }
    let (written, all) = (faults.total("Touches", "write"), faults.thread("toucher"));
    assert!(percent(written, all) >= 95.0, "{written} of {all}");
}

#[test]
fn page_faults_are_those_of_the_pages_that_are_touched() {
    touches().quipu(["--event", "page-faults"]).on_every_jdk(|run| {
        let profile = done(run);
        assert_faults(profile);
        let kept = profile.meta.options.iter().any(|(name, value)| name == "event" && value == "page-faults");
        assert!(kept, "{:?}", profile.meta.options);
    });
}

/// Which area of memory was touched, of each fault.
#[test]
fn page_faults_are_of_areas_of_memory() {
    const AREAS: [(&str, &str, &str); 3] = [
        ("heap", "fill", "Java heap"),
        ("outside", "buffer", "outside of the heap"),
        ("deep", "descend", "stack"),
    ];
    let program = Program::new("Areas").arguments(["64"]).jvm(["-Xms256m", "-Xmx256m", "-XX:+UseSerialGC"]);
    program.quipu(["--event", "page-faults"]).on_every_jdk(|run| {
        let profile = done(run);
        let faults = Shares::of(profile, "event.page-faults");
        for (thread, method, area) in AREAS {
            let options = quipu_report::Options {
                by: quipu_report::By::Object,
                narrowing: quipu_report::Narrowing { thread: Some(thread.to_owned()), ..Default::default() },
                ..Default::default()
            };
            let report = quipu_report::json(profile, &options).expect("objects");
            let report: Value = serde_json::from_str(&report).expect(&report);
            let rows = report["rows"].as_array().expect("rows");
            let of_area = rows.iter().filter(|row| row["class"] == area);
            let found: u64 = of_area.filter_map(|row| row["event.page-faults"].as_u64()).sum();
            let all = faults.total("Areas", method);
            assert!(all > 50, "{thread}: {all} faults; {}", run.said());
            assert!(percent(found, all) >= 95.0, "{thread}: {found} of {all} are in: {area}; {report}");
        }
    });
}

/// One sample for a hundred faults: what a sample stands for is counted, and at most one period for each thread is not told.
#[test]
fn a_period_takes_fewer_samples_and_the_same_sum() {
    touches().quipu(["--event", "page-faults:100"]).on_every_jdk(|run| {
        let profile = done(run);
        let faults = Shares::of(profile, "event.page-faults").total("Touches", "write");
        assert!((4 * PAGES - 100..=4 * PAGES + 200).contains(&faults), "{faults}");
        let samples = profile.samples().len() as u64;
        assert!(samples < 4 * PAGES / 10, "{samples} samples");
    });
}

#[test]
fn a_breakpoint_counts_each_execution() {
    touches().quipu(["--event", "mem:JVM_TotalMemory:x"]).on_every_jdk(|run| {
        let hits = Shares::of(done(run), "event.mem:JVM_TotalMemory:x");
        assert_eq!(hits.total("Touches", "ask"), CALLS, "{}", run.said());
        assert_eq!(hits.thread("asker"), CALLS);
    });
}

/// A sample of a thread that goes to sleep wakes it, and it goes to sleep once more; that is not told.
#[test]
fn context_switches_are_the_programs_own() {
    touches().quipu(["--event", "context-switches:2"]).on_every_jdk(|run| {
        let switches = Shares::of(done(run), "event.context-switches").total("Touches", "sleep");
        // Others want the processor as well, which takes it away at times; and a sleep may be over when the sample is taken.
        assert!(
            (SLEEPS - SLEEPS / 10..=SLEEPS + SLEEPS / 4).contains(&switches),
            "{switches}; {}",
            run.said()
        );
    });
}

#[test]
fn several_events_and_other_kinds_at_once_are_each_true() {
    let kinds = [
        "--event=page-faults",
        "--event=mem:JVM_TotalMemory:x",
        "--event=task-clock:1M",
        "--event=cs:2",
        "--cpu=1000",
        "--wall=200",
        "--locks=1us",
        "--exact",
    ];
    touches().quipu(kinds).on_every_jdk(|run| {
        let profile = done(run);
        assert_faults(profile);
        let hits = Shares::of(profile, "event.mem:JVM_TotalMemory:x");
        assert_eq!(hits.total("Touches", "ask"), CALLS, "{}", run.said());
        let switches = Shares::of(profile, "event.context-switches").total("Touches", "sleep");
        assert!(switches >= SLEEPS - SLEEPS / 10, "{switches}; {}", run.said());
        for metric in ["event.task-clock", "cpu", "wall", "calls"] {
            assert!(
                profile.metric(metric).is_some_and(|metric| metric.total() > 0),
                "{metric}; {}",
                run.said()
            );
        }
        // The same time, by two clocks.
        let [cpu, clock] =
            ["cpu", "event.task-clock"].map(|metric| Shares::of(profile, metric).thread("toucher"));
        assert!(cpu > 0 && clock > 0, "{cpu} and {clock}");
    });
}

#[test]
fn a_virtual_thread_is_charged_with_its_own() {
    const EACH: u64 = 1000;
    let program = Program::new("Faults").arguments(["8", &EACH.to_string()]).since(21);
    program.quipu(["--event", "page-faults", "--merge-threads", "never"]).on_every_jdk(|run| {
        let faults = Shares::of(done(run), "event.page-faults");
        for i in 0..8 {
            let found = faults.thread(&format!("writer-{i}"));
            // The last signals may come when the thread has left its carrier.
            assert!(
                (EACH - EACH / 100..=EACH + EACH / 10).contains(&found),
                "writer-{i}: {found}; {}",
                run.said()
            );
        }
        let written = faults.total("Faults", "write");
        assert!((8 * EACH - 8..=8 * EACH + 100).contains(&written), "{written}; {}", run.said());
    });
}

#[test]
fn hundreds_of_threads_are_all_counted() {
    let program = Program::new("ManyFaults").arguments(["400", "20"]);
    program.quipu(["--event=page-faults", "--event=cpu-clock"]).on_every_jdk(|run| {
        let faults = Shares::of(done(run), "event.page-faults").total("ManyFaults", "write");
        // A signal comes a moment after its event: the last one of a thread may find it behind the method.
        assert!((7900..=8500).contains(&faults), "{faults}; {}", run.said());
        assert!(!run.profile().meta.lost.contains_key("threads.without-events"), "{}", run.said());
    });
}

/// The program keeps a part of the descriptors that it may have, and what could not be counted is told.
#[test]
fn descriptors_are_left_to_the_program() {
    on_every_jdk(|jdk| {
        let file = scratch("descriptors").join("out.quipu");
        let mut shell = Command::new("sh");
        let command = "ulimit -n 200; exec \"$@\"";
        shell.args(["-c", command, "sh"]).arg(&tools().quipu);
        shell.args(["run", "--event=page-faults", "-o"]).arg(&file).arg("--").arg(jdk.home.join("bin/java"));
        shell.arg("-cp").arg(classes(jdk)).args(["ManyFaults", "300", "20"]);
        let output = shell.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && output.stdout == b"done\n", "{said}");
        assert!(said.contains("events of threads that could not be counted"), "{said}");
        let profile = Profile::load(&file).expect("a profile");
        let without = profile.meta.lost["threads.without-events"];
        assert!((150..300).contains(&without), "{without}");
        let faults = Shares::of(&profile, "event.page-faults").total("ManyFaults", "write");
        // Those that are counted are counted wholly.
        assert!(faults >= 20 * (300 - without) - 20 && faults > 0, "{faults} with {without} left out");
    });
}

/// One second of a program that is at work all the time.
fn attach(working: &Working) -> Profile {
    let file = scratch("events").join("out.quipu");
    let mut quipu = Command::new(&tools().quipu);
    quipu.args(["attach", &working.id(), "--event", "task-clock:1M", "-d", "1", "-o"]).arg(&file);
    let output = quipu.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Profile::load(&file).expect("a profile")
}

#[test]
fn a_program_that_runs_is_measured_again_and_again() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let descriptors =
            || std::fs::read_dir(format!("/proc/{}/fd", working.id())).expect("it runs").count();
        let mut before = None;
        for _ in 0..3 {
            let profile = attach(&working);
            let clock = Shares::of(&profile, "event.task-clock");
            assert!(percent(clock.total("Working", "main"), clock.thread("main")) > 90.0, "{clock:?}");
            let seconds = clock.thread("main") as f64 / 1e9;
            assert!((0.05..2.5).contains(&seconds), "{seconds} s of CPU in one second");
            // What the first attach opened for good is there before the second.
            let now = descriptors();
            assert!(before.is_none_or(|before| now <= before), "{now} descriptors, {before:?} before");
            before = Some(now);
        }
        finish(working);
    });
}

/// What `run` says of an event, and with which status.
fn refused(jdk: &Jdk, event: &str) -> (Option<i32>, String) {
    let mut quipu = Command::new(&tools().quipu);
    quipu.args(["run", "--event", event, "-o"]).arg(scratch("refused").join("out.quipu")).arg("--");
    quipu.arg(jdk.home.join("bin/java")).arg("-cp").arg(classes(jdk)).arg("Foo");
    let output = quipu.output().expect("it runs");
    assert!(output.stdout.is_empty(), "the program was started");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn an_event_that_cannot_be_had_is_refused_before_the_program_starts() {
    let list = Command::new(&tools().quipu).args(["run", "--event", "list"]).output().expect("it runs");
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let has = |name: &str| {
        let lines = list.lines().filter(|line| line.starts_with("ok"));
        lines.flat_map(str::split_whitespace).any(|word| word == name)
    };
    assert!(has("page-faults"), "{list}");
    on_every_jdk(|jdk| {
        let (status, said) = refused(jdk, "no-such-event");
        assert_eq!(status, Some(2), "{said}");
        assert!(said.starts_with("quipu: unknown event 'no-such-event': cpu-clock, "), "{said}");
        if !has("cycles") {
            let (status, said) = refused(jdk, "cycles");
            assert_eq!(status, Some(3), "{said}");
            assert!(said.contains("--event cycles: ") && said.contains("page-faults"), "{said}");
        }
    });
}

/// Faults for each nanosecond, by method: those that touch pages come before one that only computes.
#[test]
fn two_events_have_a_ratio() {
    const RATIO: &str = "event.page-faults/event.task-clock";
    on_every_jdk(|jdk| {
        let file = scratch("ratio").join("out.quipu");
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(["run", "--event=page-faults", "--event=task-clock:100k", "-o"]).arg(&file).arg("--");
        quipu.arg(jdk.home.join("bin/java")).arg("-cp").arg(classes(jdk));
        let output = quipu.args(["Touches", "8000", "10", "1", "1"]).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report = |more: &[&str]| {
            let mut quipu = Command::new(&tools().quipu);
            let output = quipu.arg("report").arg(&file).args(["--metric", RATIO]).args(more).output();
            String::from_utf8(output.expect("it runs").stdout).expect("text")
        };
        let methods = report(&["--by", "method", "--thread", "toucher", "--json"]);
        let methods: Value = serde_json::from_str(&methods).expect(&methods);
        let rows = methods["rows"].as_array().expect("rows");
        let ratios: Vec<f64> = rows.iter().filter_map(|row| row[RATIO].as_f64()).collect();
        assert!(!ratios.is_empty() && ratios[0] > 0.0, "{methods}");
        for row in rows.iter().filter(|row| !row[RATIO].is_null()) {
            let [faults, clock] =
                ["event.page-faults", "event.task-clock"].map(|metric| row[metric]["self"].as_f64());
            let ratio = row[RATIO].as_f64().expect("a number");
            assert!((faults.expect("faults") / clock.expect("time") - ratio).abs() < 1e-12, "{row}");
        }
        let profile = Profile::load(&file).expect("a profile");
        let [faults, clock] = ["event.page-faults", "event.task-clock"]
            .map(|metric| profile.metric(metric).expect("measured").total() as f64);
        let (head, all) = (report(&["--by", "method", "--all-threads"]), faults / clock);
        let said = head.split_once(&format!("{RATIO} ")).and_then(|(_, behind)| behind.split_once(','));
        let said: f64 = said.and_then(|(ratio, _)| ratio.parse().ok()).expect(&head);
        assert!((said / all - 1.0).abs() < 0.1, "{said} for {all}");
    });
}

/// Who has no rights gets what the kernel allows, and a sentence for the rest. Whoever runs this may have them: they are taken away.
#[test]
fn without_rights_there_is_what_is_allowed_and_a_sentence_for_the_rest() {
    const CAPABILITIES: &str = "-perfmon,-sys_admin";
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").expect("it can be read");
    let level: i32 = level.trim().parse().expect("a number");
    let taken_away = ["--bounding-set", CAPABILITIES, "--inh-caps", CAPABILITIES];
    let rights = Command::new("setpriv").args(taken_away).arg("true").output();
    let can_take_away = rights.is_ok_and(|output| output.status.success());
    let run = |jdk: &Jdk, event: &str, file: &std::path::Path| {
        let mut quipu = Command::new(if can_take_away { "setpriv" } else { "env" });
        quipu.args(taken_away.iter().filter(|_| can_take_away)).arg(&tools().quipu);
        quipu.args(["run", "--event", event, "-o"]).arg(file).arg("--").arg(jdk.home.join("bin/java"));
        let output = quipu.arg("-cp").arg(classes(jdk)).args(["Touches", "500", "10", "10", "1"]).output();
        let output = output.expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    on_every_jdk(|jdk| {
        let file = scratch("rights").join("out.quipu");
        let (status, said) = run(jdk, "page-faults", &file);
        // Some kernels know of a third level, others take it for the second.
        if level <= 2 || status == Some(0) {
            assert_eq!(status, Some(0), "{said}");
            let outside = said.contains("event.page-faults: without what takes place in the kernel");
            assert_eq!(outside, level >= 2, "{said}");
            let profile = Profile::load(&file).expect("a profile");
            let faults = Shares::of(&profile, "event.page-faults").total("Touches", "write");
            assert!(faults >= 4 * 500 - 10, "{faults}: {said}");
        }
        let (status, said) = run(jdk, "context-switches:2", &file);
        if level >= 2 {
            assert_eq!(status, Some(3), "{said}");
            for word in [
                &format!("kernel.perf_event_paranoid is {level}, "),
                "kernel.perf_event_paranoid=1",
                "CAP_PERFMON",
            ] {
                assert!(said.contains(word), "{word}: {said}");
            }
        } else {
            assert_eq!(status, Some(0), "{said}");
        }
    });
}

/// A symbol is looked for in the process that is to be counted.
#[test]
fn a_symbol_that_is_not_there_is_named() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(["attach", &working.id(), "--event", "mem:JVM_NoSuchThing:x", "-d", "1", "-o"]);
        let output = quipu.arg(scratch("symbol").join("out.quipu")).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("--event mem:JVM_NoSuchThing:x: no library of the process exports"), "{said}");
        // It can be attached to as if nothing had been.
        let profile = attach(&working);
        assert!(profile.metric("event.task-clock").is_some());
        finish(working);
    });
}
