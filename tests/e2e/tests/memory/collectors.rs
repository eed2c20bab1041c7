//! Objects under every collector that a JDK has: samples, all of them, and survivors.

use quipu_e2e::{Command, Jdk, Program, Run, on_every_jdk};
use quipu_profile::Profile;

use crate::{HEADERS, too_early};

const COLLECTORS: [&str; 3] = ["-XX:+UseG1GC", "-XX:+UseZGC", "-XX:+UseShenandoahGC"];

/// The sum of a metric over leaves of a class below a method, and its standard error if it is an estimate.
fn made(profile: &Profile, metric: &str, class: &str, method: &str) -> (f64, f64) {
    let tree = profile.tree();
    let name = |node: u32| tree.method(node).map(|method| profile.method_name(method)).unwrap_or_default();
    let is_of = |&node: &u32| {
        name(node) == format!("{class} [allocated]") && name(tree.parents()[node as usize]) == method
    };
    let nodes: Vec<u32> = (1..tree.len() as u32).filter(is_of).collect();
    let sum = |metric: &str| {
        let values = profile.metric(metric).map_or(&[][..], |metric| metric.values());
        nodes.iter().map(|&node| values.get(node as usize).copied().unwrap_or(0) as f64).sum::<f64>()
    };
    (sum(metric), sum(&format!("{metric}.variance")).sqrt())
}

/// Within five standard errors: beyond that is none of a million by chance.
fn assert_made(run: &Run, metric: &str, class: &str, method: &str, truth: f64) {
    let (sum, error) = made(run.profile(), metric, class, method);
    let besides = too_early(run.jdk.feature) * truth;
    assert!(
        (sum - truth).abs() <= 5.0 * error + besides,
        "{class}: {metric} {sum} +- {error:.0}, and it was {truth}"
    );
}

/// Whether a JDK was built with it.
fn has(jdk: &Jdk, collector: &str) -> bool {
    let mut java = Command::new(jdk.home.join("bin/java"));
    java.args([collector, "-version"]).output().expect("it runs").status.success()
}

fn under_each(program: &Program, options: &[&str], test: impl Fn(&Run)) {
    on_every_jdk(|jdk| {
        for collector in COLLECTORS.into_iter().filter(|collector| has(jdk, collector)) {
            println!("{collector}");
            let program = program.clone().jvm([collector, "-Xmx512m"]).jvm(HEADERS).quipu_all(options);
            if program.runs_on(jdk) {
                let run = program.run(jdk);
                assert!(run.status.success(), "{collector}: {}", run.said());
                assert!(run.profile().meta.lost.is_empty(), "lost {:?}", run.profile().meta.lost);
                test(&run);
            }
        }
    });
}

#[test]
fn samples_are_of_all_objects() {
    let program = Program::new("Makes").since(11).arguments(["2", "50000"]);
    under_each(&program, &["--alloc", "4999"], |run| {
        for (class, method, per_round) in [
            ("Makes$Small", "Makes.small", 2.0),
            ("Makes$Other", "Makes.other", 1.0),
            ("int[]", "Makes.array", 1.0),
        ] {
            assert_made(run, "alloc.count", class, method, 100_000.0 * per_round);
        }
        assert_made(run, "alloc.bytes", "int[]", "Makes.array", 100_000.0 * 416.0);
    });
}

#[test]
fn every_object_is_counted() {
    under_each(&Program::new("MakesAll").arguments(["2000"]), &["--alloc", "all"], |run| {
        for (class, method, per_round, size) in [
            ("MakesAll$Plain", "MakesAll.plain", 1.0, 24.0),
            ("MakesAll$Plain", "MakesAll.unneeded", 1.0, 24.0),
            ("double[]", "MakesAll.primitives", 1.0, 56.0),
            ("int[]", "MakesAll.arraysOfArrays", 6.0, 32.0),
            ("long[]", "MakesAll.copies", 1.0, 40.0),
        ] {
            let objects = 2000.0 * per_round;
            assert_eq!(made(run.profile(), "alloc.count", class, method).0, objects, "{class} in {method}");
            assert_eq!(
                made(run.profile(), "alloc.bytes", class, method).0,
                objects * size,
                "{class} in {method}"
            );
        }
    });
}

#[test]
fn survivors_are_told_from_garbage() {
    let program = Program::new("Survives").since(11).arguments(["8"]);
    under_each(&program, &["--live", "1009"], |run| {
        assert_made(run, "live.count", "Survives$Kept", "Survives.keep", 8.0 * 2_000.0);
        let (gone, _) = made(run.profile(), "live.count", "Survives$Gone", "Survives.waste");
        assert!(gone <= 64_000.0 / 50.0, "{gone} of 64000");
    });
}

/// Virtual threads, whose carriers have the buffers that objects are made in.
#[test]
fn samples_are_of_all_objects_of_virtual_threads() {
    let program = Program::new("WorksVirtual").since(21).arguments(["200", "500"]);
    under_each(&program, &["--alloc", "4999"], |run| {
        assert_made(run, "alloc.count", "WorksVirtual$Made", "WorksVirtual.make", 100_000.0);
        assert_made(run, "alloc.count", "int[]", "WorksVirtual.make", 100_000.0);
    });
}
