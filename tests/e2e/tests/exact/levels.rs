//! Contexts of all methods, of the application's, or of none: the sums are the same, to the last bytecode.

use std::collections::BTreeMap;

use quipu_e2e::{
    Command, Counts, Jdk, Program, Run, ThreadCounts, Working, jdks, knows_flag, library, on_every_jdk,
    oracle, scratch, tools,
};
use quipu_profile::{Contents, Metric, Profile, Target};

/// The levels with fewer contexts than the default.
const FEWER: [&str; 2] = ["app", "none"];

/// What stands above the methods without contexts.
const PLACE: &str = "[methods without contexts]";

/// By method, all contexts together, without what stands for no method.
fn sums(run: &Run, thread: &str) -> BTreeMap<String, Counts> {
    let mut sums = run.thread(thread).by_method();
    sums.retain(|name, _| !name.contains(PLACE));
    sums
}

/// Everything that a thread executed was charged to somebody. Threads that still run when the VM ends may have counted
/// something that they did not come to charge.
fn assert_charged(run: &Run, thread: &str) {
    let charged = run.profile().metric("bytecodes.charged").expect("the metric").values();
    let thread = run.thread(thread);
    let paid: u64 = thread.nodes().map(|node| charged[node as usize]).sum();
    assert_eq!(paid, thread.total().bytecodes);
}

fn same_sums(program: &Program, threads: &[&str], jdk: &Jdk) {
    let program = program.clone().quipu(["--deterministic"]).jvm(oracle::PINS);
    let place = scratch("levels");
    let program = program.directory(place.clone());
    let run = |level: &str| {
        std::fs::remove_dir_all(&place)
            .and_then(|()| std::fs::create_dir(&place))
            .expect("an empty directory");
        program.clone().quipu(["--contexts", level]).run(jdk)
    };
    let all = run("all");
    for level in FEWER {
        let fewer = run(level);
        fewer.assert_whole();
        assert_eq!(fewer.stdout, all.stdout);
        for thread in threads {
            let (expected, found) = (sums(&all, thread), sums(&fewer, thread));
            assert!(!expected.is_empty(), "{thread}");
            let wrong: Vec<String> = expected
                .iter()
                .chain(&found)
                .map(|(name, _)| (name, expected.get(name), found.get(name)))
                .filter(|(_, a, b)| a != b)
                .map(|(name, a, b)| format!("{name}: {a:?} with all contexts, {b:?} here"))
                .collect();
            assert!(wrong.is_empty(), "JDK {}, {level}, {thread}:\n{}", jdk.feature, wrong.join("\n"));
        }
        if level == "app" {
            threads.iter().for_each(|thread| assert_charged(&fewer, thread));
        }
    }
}

/// On every JDK with one of the analyses, in turns, and beginning with another for every second program: each JDK and each analysis
/// has its programs, and half as many JVMs are started. `QUIPU_FULL` has all.
fn on_every_jdk_the_same(program: &Program, threads: &[&str], first: usize) {
    let full = std::env::var_os("QUIPU_FULL").is_some();
    let jdks: Vec<_> = jdks::find().into_iter().map(|jdk| jdk.home).collect();
    on_every_jdk(|jdk| {
        let turn = first + jdks.iter().position(|home| *home == jdk.home).unwrap_or(0);
        for (at, analysis) in ["default", "precise"].into_iter().enumerate() {
            if program.runs_on(jdk) && (full || at == turn % 2) {
                same_sums(&program.clone().quipu(["--bba", analysis]), threads, jdk);
            }
        }
    });
}

#[test]
fn json_has_the_same_sums() {
    on_every_jdk_the_same(&Program::new("Json"), &["main"], 0);
}

#[test]
fn collections_have_the_same_sums() {
    on_every_jdk_the_same(&Program::new("Collections"), &["main"], 1);
}

#[test]
fn the_language_has_the_same_sums() {
    on_every_jdk_the_same(&Program::new("Language"), &["main"], 0);
}

#[test]
fn loaders_have_the_same_sums() {
    on_every_jdk_the_same(&Program::new("Loaders").arguments(["3"]), &["main"], 1);
}

#[test]
fn exceptions_have_the_same_sums() {
    on_every_jdk_the_same(&Program::new("Exceptions").arguments(["240", "0"]), &["main"], 1);
}

#[test]
fn threads_have_the_same_sums() {
    on_every_jdk_the_same(&Program::new("Hot").arguments(["5"]), &["main", "first", "second"], 0);
}

#[test]
fn a_database_has_the_same_sums() {
    let program = Program::new("Query").library(library("com.h2database:h2:2.2.224"));
    on_every_jdk_the_same(&program.jvm(["-Dh2.objectCache=false"]), &["main"], 1);
}

/// Whose context called is in `app`, and what the JDK did for it.
#[test]
fn the_application_has_contexts_and_pays_for_the_jdk() {
    Program::new("Foo").quipu(["--contexts", "app"]).on_every_jdk(|run| {
        let main = run.assert_whole().thread("main");
        assert_eq!(main.path(&["Foo.main", "Foo.sum", "Foo.f"]), Counts { calls: 1_000, bytecodes: 6_000 });
        assert_eq!(main.method("Foo", "sum"), Counts { calls: 1, bytecodes: 10_007 });
        assert_charged(run, "main");
        let charged = run.profile().metric("bytecodes.charged").expect("the metric").values();
        let of = |name: &str| -> u64 {
            main.contexts("Foo", name).iter().map(|&node| charged[node as usize]).sum()
        };
        assert_eq!((of("sum"), of("f")), (10_007, 6_000), "they call nothing of the JDK's");
        assert!(of("main") > 500, "it prints: {}", of("main"));
        let jdk: Vec<_> = main.nodes().filter(|&node| main.name(node).starts_with("java.")).collect();
        assert!(jdk.len() > 50);
        for node in jdk.into_iter().filter(|&node| !main.is_opaque(node)) {
            assert_eq!(main.path_of(node).len(), 2, "{:?}", main.path_of(node));
        }
    });
}

#[test]
fn without_contexts_there_is_one_row_a_method() {
    Program::new("Foo").quipu(["--contexts", "none"]).on_every_jdk(|run| {
        let main = run.assert_whole().thread("main");
        assert_eq!(main.method("Foo", "sum"), Counts { calls: 1, bytecodes: 10_007 });
        assert_eq!(main.method("Foo", "f"), Counts { calls: 1_000, bytecodes: 6_000 });
        assert_eq!(main.depth(), 1);
        assert!(run.profile().metric("bytecodes.charged").is_none());
    });
}

fn workers<'r>(run: &'r Run, name: &str) -> ThreadCounts<'r> {
    run.assert_whole().thread(name)
}

#[test]
fn threads_that_run_at_once_lose_no_call() {
    for level in FEWER {
        let program = Program::new("ManyThreads").arguments(["64", "200", "6000"]);
        program.quipu(["--contexts", level]).on_every_jdk(|run| {
            let workers = workers(run, "worker-#");
            assert_eq!(workers.threads(), 64);
            assert_eq!(workers.method("ManyThreads", "work").calls, 64 * 6_000);
            assert_eq!(workers.method("ManyThreads", "descend").calls, 64 * 200);
        });
    }
}

#[test]
fn threads_come_and_go() {
    for level in FEWER {
        let level = ["--contexts", level];
        Program::new("PlatformThreads").arguments(["10000", "50"]).quipu(level).on_every_jdk(|run| {
            let short = workers(run, "short-#");
            assert_eq!((short.trees(), short.threads()), (1, 10_000));
            assert_eq!(short.method("PlatformThreads", "work").calls, 100_000);
        });
        let program = Program::new("VirtualThreads").since(21).arguments(["100000", "1000"]);
        program.quipu(level).on_every_jdk(|run| {
            let all = workers(run, "[virtual]");
            assert_eq!(all.method("VirtualThreads", "work").calls, 100_000);
            assert_eq!(all.threads(), 100_000);
        });
        Program::new("Migrates").since(21).arguments(["200", "40"]).quipu(level).on_every_jdk(|run| {
            assert_eq!(workers(run, "v-#").method("Migrates", "leaf").calls, 3 * 200 * 40);
        });
    }
}

/// Threads that the arena has no room for are not counted, and the profile says so.
#[test]
fn threads_without_room_are_reported() {
    let program = Program::new("ManyThreads").arguments(["64", "200", "600000"]);
    // The threads of the VM have taken what there is before the first of these begins.
    program.quipu(["--contexts", "none", "--arena-limit", "5M"]).on_every_jdk(|run| {
        assert_eq!(run.status.code(), Some(0), "{}", run.stderr);
        let workers = ThreadCounts::of(run.profile(), |name| name == "worker-#");
        let calls = workers.method("ManyThreads", "work").calls;
        assert!(calls < 64 * 600_000 && calls.is_multiple_of(600_000), "{calls}");
        assert!(run.profile().meta.lost.contains_key("contexts.refused"), "{:?}", run.profile().meta.lost);
    });
}

/// Callers stay right whoever throws and catches.
#[test]
fn exceptions_lose_no_context_of_the_application() {
    let calls = 2_000;
    let program = Program::new("Exceptions").arguments([calls.to_string(), "20".to_owned()]);
    program.quipu(["--contexts", "app"]).on_every_jdk(|run| {
        let main = run.assert_whole().thread("main");
        for caller in ["directly", "byReflection", "byHandle", "byLambda", "byConstructor"] {
            let path = ["Exceptions.main", &format!("Exceptions.{caller}"), "Exceptions.after"];
            assert_eq!(main.path(&path).calls, calls, "{caller}");
        }
    });
}

#[test]
fn compilers_and_collectors_do_not_change_the_profile() {
    let application = |program: &Program, jdk: &Jdk| {
        let run = program.run(jdk);
        let names = ["main", "first", "second"];
        let mut profile: Profile = run
            .assert_whole()
            .profile()
            .select_threads(|profile, thread| names.contains(&profile.str(thread.name)));
        profile.meta.target = Target::default();
        profile.to_bytes(Contents::WithoutRun)
    };
    for level in FEWER {
        let program = Program::new("Hot").arguments(["20"]).quipu(["--deterministic", "--contexts", level]);
        on_every_jdk(|jdk| {
            let expected = application(&program, jdk);
            for flag in ["-Xint", "-XX:TieredStopAtLevel=1", "-Xcomp", "-XX:+UseSerialGC", "-XX:+UseZGC"] {
                if !knows_flag(jdk, flag) {
                    continue;
                }
                let found = application(&program.clone().jvm([flag]), jdk);
                assert!(found == expected, "JDK {}, {level}, {flag}", jdk.feature);
            }
        });
    }
}

#[test]
fn a_killed_target_leaves_its_profile() {
    for level in FEWER {
        Program::new("KillsItself").quipu(["--contexts", level]).on_every_jdk(|run| {
            assert_eq!(run.status.code(), Some(128 + 9), "{}", run.stderr);
            assert_eq!(run.thread("main").method("KillsItself", "work").calls, 5_000);
        });
    }
}

/// One after the other in one process; the program's output is its own.
#[test]
fn levels_come_and_go_with_attach() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let pid = working.id();
        for level in ["none", "all", "app", "none"] {
            let file = scratch("levels").join("out.quipu");
            let mut quipu = Command::new(&tools().quipu);
            quipu.args(["attach", &pid, "-d", "1", "--exact", "--contexts", level, "-o"]).arg(&file);
            let said = quipu.output().expect("it runs").stderr;
            let profile = Profile::load(&file)
                .unwrap_or_else(|e| panic!("{level}: {e}: {}", String::from_utf8_lossy(&said)));
            let total = |metric: &str| profile.metric(metric).map_or(0, Metric::total);
            assert!(total("bytecodes") > 1_000_000, "{level}: {}", total("bytecodes"));
            assert_eq!(total("bytecodes.charged") > 0, level == "app", "{level}");
        }
        working.finish();
    });
}

#[test]
fn what_needs_contexts_is_refused_without() {
    for option in
        [&["--sites"][..], &["--blocks"], &["--allocations"], &["--max-depth", "9"], &["--bytecodes", "9"]]
    {
        let mut quipu = Command::new(&tools().quipu);
        let run = quipu.args(["run", "--contexts", "none"]).args(option).args(["--", "java", "-version"]);
        let output = run.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(option[0]) && said.contains("--contexts none"), "{said}");
    }
}
