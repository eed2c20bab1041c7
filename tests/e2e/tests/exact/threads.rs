//! Threads: many at once, many one after the other, platform and virtual.

use quipu_e2e::{Program, Run};

/// Kilobytes of the arena, as the profile says.
fn arena_kilobytes(run: &Run) -> u64 {
    let cost = run.profile().run.cost.iter().find_map(|line| line.strip_prefix("the arena took "));
    let number = cost.and_then(|text| text.split(' ').next()).and_then(|text| text.parse().ok());
    number.unwrap_or_else(|| panic!("the cost of the arena in {:?}", run.profile().run.cost))
}

#[test]
fn threads_that_run_at_once_lose_no_call() {
    Program::new("ManyThreads").arguments(["64", "200", "6000"]).on_every_jdk(|run| {
        let workers = run.assert_whole().thread("worker-#");
        assert_eq!(workers.threads(), 64);
        assert_eq!(workers.method("ManyThreads", "work").calls, 64 * 6_000);
        assert_eq!(workers.method("ManyThreads", "descend").calls, 64 * 200);
        assert_eq!(workers.contexts("ManyThreads", "work").len(), 1, "one context, 200 frames deep");
        assert_eq!(workers.contexts("ManyThreads", "descend").len(), 200);
    });
}

#[test]
fn platform_threads_come_and_go() {
    Program::new("PlatformThreads").arguments(["10000", "50"]).on_every_jdk(|run| {
        let short = run.assert_whole().thread("short-#");
        assert_eq!((short.trees(), short.threads()), (1, 10_000));
        assert_eq!(short.method("PlatformThreads", "task").calls, 10_000);
        assert_eq!(short.method("PlatformThreads", "work").calls, 100_000);
        let used = arena_kilobytes(run);
        assert!(used < 24 << 10, "50 threads at a time took {used} KB");
    });
}

#[test]
fn virtual_threads_come_and_go() {
    Program::new("VirtualThreads").since(21).arguments(["1000000", "10000"]).on_every_jdk(|run| {
        let all = run.assert_whole().thread("[virtual]");
        assert_eq!(all.method("VirtualThreads", "task").calls, 1_000_000);
        assert_eq!(all.method("VirtualThreads", "work").calls, 1_000_000);
        assert_eq!(all.threads(), 1_000_000);
        let used = arena_kilobytes(run);
        assert!(used < 256 << 10, "10,000 virtual threads at a time took {used} KB");
    });
}

/// A virtual thread that gives up its carrier in the middle of a method goes on in the same context.
#[test]
fn virtual_threads_keep_their_context_on_other_carriers() {
    let (threads, rounds) = (200, 40);
    let arguments = [threads.to_string(), rounds.to_string()];
    Program::new("Migrates").since(21).arguments(arguments).on_every_jdk(|run| {
        let all = run.assert_whole().thread("v-#");
        let calls = |path: &[&str]| all.path(path).calls;
        assert_eq!(calls(&["Migrates.outer"]), threads);
        assert_eq!(calls(&["Migrates.outer", "Migrates.inner"]), threads * rounds);
        assert_eq!(calls(&["Migrates.outer", "Migrates.inner", "Migrates.leaf"]), 2 * threads * rounds);
        assert_eq!(calls(&["Migrates.outer", "Migrates.leaf"]), threads * rounds);
        assert_eq!(all.method("Migrates", "leaf").calls, 3 * threads * rounds);
        assert_eq!(all.contexts("Migrates", "leaf").len(), 2);
    });
}

/// Classes that come and go, too: each loader's copy of a class is the same method to the profile.
#[test]
fn classes_loaded_many_times_are_counted_together() {
    Program::new("Loaders").arguments(["60", "unload"]).on_every_jdk(|run| {
        let main = run.assert_whole().thread("main");
        assert_eq!(main.method("Loaders$Plugin", "run").calls, 61);
        assert_eq!(main.method("Loaders$Plugin", "step").calls, 6_100);
        assert_eq!(main.path(&["Loaders.once", "Loaders$Plugin.run"]).calls, 60);
    });
}

/// Threads nobody asked for run the same code and leave nothing in the profile.
#[test]
fn only_the_threads_asked_for_are_counted() {
    let program = Program::new("ManyThreads").arguments(["20", "10", "500"]);
    let names = |run: &Run| -> Vec<String> {
        run.profile().threads().iter().map(|thread| run.profile().str(thread.name).to_owned()).collect()
    };
    program.clone().quipu(["--threads", "worker-1*", "--threads", "nobody"]).on_every_jdk(|run| {
        // worker-1 and worker-10 to worker-19.
        let workers = run.assert_whole().thread("worker-#");
        assert_eq!(workers.threads(), 11);
        assert_eq!(workers.method("ManyThreads", "work").calls, 11 * 500);
        assert!(names(run).iter().all(|name| name.starts_with("worker-#")), "{:?}", names(run));
    });
    program.quipu(["--threads", "main"]).on_every_jdk(|run| {
        let main = run.assert_whole().thread("main");
        assert_eq!(main.method("ManyThreads", "main").calls, 1);
        assert_eq!(main.method("ManyThreads", "work").calls, 0);
        assert!(names(run).iter().all(|name| name.starts_with("main")), "{:?}", names(run));
    });
}
