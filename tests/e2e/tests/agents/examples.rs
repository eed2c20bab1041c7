//! The examples in `java/examples`.

use quipu_e2e::{Program, on_every_jdk, scratch};

use crate::jars::under;

#[test]
fn the_top_methods_are_printed_again_and_again() {
    on_every_jdk(|jdk| {
        let program = Program::new("ManyThreads").arguments(["2", "10", "50000"]);
        let program = program.jvm(["-Dtop.bytecodes=100000", "-Dtop.methods=2"]);
        let run = under("quipu.examples.TopMethods", program, jdk);
        let worker = "top: worker-1\n";
        assert!(run.assert_whole().stderr.matches(worker).count() >= 5, "{}", run.said());
        let after = run.stderr.split(worker).last().unwrap_or_default();
        let hot: Vec<&str> =
            after.lines().take(2).filter_map(|line| line.split_whitespace().nth(1)).collect();
        assert_eq!(hot, ["ManyThreads.descend", "ManyThreads.work"], "{}", run.said());
    });
}

#[test]
fn the_trees_of_all_threads_are_merged_into_one() {
    on_every_jdk(|jdk| {
        let file = scratch("merged").join("tree.txt");
        let option = format!("-Dmerged.out={}", file.display());
        let program = Program::new("ManyThreads").arguments(["64", "200", "6000"]).jvm([&option]);
        let run = under("quipu.examples.MergedTree", program, jdk);
        let tree = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{e}; {}", run.said()));
        let calls = |method: &str| -> Vec<u64> {
            let lines = tree.lines().filter(|line| line.contains(method));
            lines.filter_map(|line| line.split_whitespace().nth(1)?.parse().ok()).collect()
        };
        assert_eq!(calls("ManyThreads.work(I)V"), [384_000], "{tree}");
        assert_eq!(calls("ManyThreads.descend(II)V"), [64; 200], "{tree}");
    });
}
