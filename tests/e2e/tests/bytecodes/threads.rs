//! Threads: many at once, many one after the other, platform and virtual.

use quipu_e2e::Program;

#[test]
fn threads_that_run_at_once_are_sampled_alike() {
    let program = Program::new("ManyThreads").arguments(["64", "200", "60000"]);
    program.quipu(["--bytecodes", "1000"]).on_every_jdk(|run| {
        let workers = run.assert_whole().thread("worker-#");
        assert_eq!(workers.threads(), 64);
        // `work` has 3 bytecodes, the loop around it 9.
        let work = workers.samples_of("ManyThreads", "work");
        let expected = 64 * 60_000 * 3 / 1049;
        assert!(work.abs_diff(expected) * 10 < expected, "{work} samples, {expected} expected");
        assert_eq!(workers.contexts("ManyThreads", "work").len(), 1, "one context, 200 frames deep");
    });
}

/// No thread executes enough for a sample of its own, but all together do.
#[test]
fn short_threads_are_sampled_like_one_long_one() {
    Program::new("PlatformThreads").arguments(["4000", "4"]).quipu(["--bytecodes", "5000"]).on_every_jdk(
        |run| {
            let short = run.assert_whole().thread("short-#");
            assert_eq!(short.threads(), 4_000);
            assert!(short.all_samples() > 50, "{}", short.all_samples());
        },
    );
}

/// A virtual thread that gives up its carrier in the middle of a method goes on in the same context.
#[test]
fn virtual_threads_keep_their_stack_on_other_carriers() {
    let program = Program::new("Migrates").since(21).arguments(["200", "40"]);
    program.quipu(["--bytecodes", "7", "--jitter", "5"]).on_every_jdk(|run| {
        let all = run.assert_whole().thread("v-#");
        let samples = |path: &[&str]| {
            let ends =
                |&node: &u32| all.path_of(node).iter().rev().zip(path.iter().rev()).all(|(a, b)| a == b);
            all.nodes().filter(ends).map(|node| all.samples(node)).sum::<u64>()
        };
        assert!(samples(&["Migrates.outer", "Migrates.inner"]) > 0);
        assert!(samples(&["Migrates.outer", "Migrates.inner", "Migrates.leaf"]) > 0);
        assert!(samples(&["Migrates.outer", "Migrates.leaf"]) > 0);
        assert_eq!(all.contexts("Migrates", "leaf").len(), 2);
    });
}
