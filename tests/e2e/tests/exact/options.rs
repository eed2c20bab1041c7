//! The options of exact profiles.

use std::collections::BTreeSet;

use quipu_e2e::{Counts, Program, Run};

fn classes(run: &Run) -> BTreeSet<String> {
    let names = run.profile().methods().iter().filter(|method| !method.flags.opaque());
    names.map(|method| run.profile().str(method.class).to_owned()).collect()
}

#[test]
fn only_what_is_included_is_counted() {
    Program::new("Foo").quipu(["--include", "Foo"]).on_every_jdk(|run| {
        let main = run.assert_whole().thread("main");
        assert_eq!(classes(run), BTreeSet::from(["Foo".to_owned()]));
        assert_eq!(main.method("Foo", "sum"), Counts { calls: 1, bytecodes: 10_007 });
        assert_eq!(main.path(&["Foo.main", "Foo.sum", "Foo.f"]).calls, 1_000);
    });
}

#[test]
fn what_is_excluded_is_not_counted_and_its_callees_are_its_callers() {
    Program::new("Foo").quipu(["--exclude", "java", "--exclude", "Foo#sum"]).on_every_jdk(|run| {
        let main = run.assert_whole().thread("main");
        assert_eq!(main.method("Foo", "sum").calls, 0);
        assert_eq!(main.path(&["Foo.main", "Foo.f"]), Counts { calls: 1_000, bytecodes: 6_000 });
        assert!(classes(run).iter().all(|class| !class.starts_with("java.")), "{:?}", classes(run));
    });
}

/// `callee` is called from three places; the one in the loop five times.
#[test]
fn call_sites_are_told_apart_when_asked() {
    Program::new("Sites").on_every_jdk(|run| {
        assert_eq!(run.assert_whole().thread("main").contexts("Sites", "callee").len(), 1);
    });
    Program::new("Sites").quipu(["--sites"]).on_every_jdk(|run| {
        let main = run.assert_whole().thread("main");
        let sites: Vec<(Option<u32>, u64)> = main
            .contexts("Sites", "callee")
            .into_iter()
            .map(|node| (run.profile().tree().site(node), main.counts(node).calls))
            .collect();
        // Two calls of `caller`, from two places: six contexts.
        assert_eq!(main.contexts("Sites", "caller").len(), 2);
        assert_eq!(sites, [(Some(1), 1), (Some(12), 5), (Some(22), 1)].repeat(2));
    });
}

/// Executions of blocks add up to the bytecodes of the method. A method whose code would become longer than a class file
/// allows is left alone, and the profile says so: JDK 25 has one, `SystemModules$default.moduleDescriptors`.
#[test]
fn blocks_are_counted_when_asked() {
    for analysis in ["default", "precise"] {
        Program::new("Foo").quipu(["--blocks", "--bba", analysis]).on_every_jdk(|run| {
            let profile = run.profile();
            assert!(profile.meta.lost.keys().all(|cause| cause == "methods.left"), "{:?}", profile.meta.lost);
            assert!(
                run.left_alone().lines().all(|line| line.contains("the format allows")),
                "{}",
                run.left_alone()
            );
            let main = run.thread("main");
            for (name, counts) in [("sum", (1, 10_007)), ("f", (1_000, 6_000))] {
                let is_it = |method: &&quipu_profile::Method| {
                    (profile.str(method.class), profile.str(method.name)) == ("Foo", name)
                };
                let method = profile.methods().iter().find(is_it).expect("the method");
                assert!(!method.blocks.is_empty(), "{name} has blocks");
                let executed: u64 =
                    method.blocks.iter().map(|block| block.count * u64::from(block.instructions)).sum();
                assert_eq!(executed, counts.1, "{name} {:?}", method.blocks);
                assert_eq!(main.method("Foo", name), Counts { calls: counts.0, bytecodes: counts.1 });
            }
        });
    }
}

#[test]
fn threads_share_trees_as_asked() {
    let program = Program::new("ManyThreads").arguments(["5", "3", "10"]);
    let trees = |run: &Run, is_it: fn(&str) -> bool| {
        let threads = run.profile().threads().iter().filter(|thread| is_it(run.profile().str(thread.name)));
        threads.map(|thread| thread.threads).collect::<Vec<_>>()
    };
    program.clone().quipu(["--merge-threads", "name"]).on_every_jdk(|run| {
        assert_eq!(trees(run, |name| name == "worker-#"), [5]);
    });
    program.clone().quipu(["--merge-threads", "never"]).on_every_jdk(|run| {
        assert_eq!(trees(run, |name| name.starts_with("worker-")), [1; 5]);
        for i in 0..5 {
            assert_eq!(run.thread(&format!("worker-{i}")).method("ManyThreads", "work").calls, 10);
        }
    });
    program.clone().quipu(["--merge-threads", "all"]).on_every_jdk(|run| {
        let all = run.thread("*");
        assert_eq!(all.method("ManyThreads", "work").calls, 50);
        assert_eq!(all.method("ManyThreads", "main").calls, 1);
    });
}

/// 25 pairs, 75 arrays and an array of arrays in `main`'s hands; the same whether all blocks have counters or only those
/// that allocate.
#[test]
fn allocations_are_counted_when_asked() {
    for option in ["--allocations", "--blocks"] {
        Program::new("Allocates").quipu([option]).on_every_jdk(|run| {
            let (profile, main) = (run.profile(), run.thread("main"));
            let allocations = profile.metric("allocations").expect("the metric").values();
            let of = |name: &str| -> u64 {
                main.contexts("Allocates", name).into_iter().map(|node| allocations[node as usize]).sum()
            };
            assert_eq!((of("main"), of("pair"), of("strings")), (76, 50, 1), "{option}");
            let with_blocks = profile.methods().iter().any(|method| !method.blocks.is_empty());
            assert_eq!(with_blocks, option == "--blocks");
        });
    }
    Program::new("Allocates").on_every_jdk(|run| {
        assert!(run.profile().metric("allocations").is_none());
    });
}
