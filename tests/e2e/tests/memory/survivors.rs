//! What survives, against a program that keeps known numbers of what it makes.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use quipu_e2e::{Command, Program, Run, classes, on_every_jdk, scratch, tools};
use quipu_profile::Profile;
use serde_json::Value;

use crate::too_early;

/// What `Survives` makes in a round, and the size of each.
const KEPT: f64 = 2_000.0;
const CACHED: f64 = 500.0;
fn size(feature: u32) -> f64 {
    // Headers have 12 bytes, and 8 where that is the default.
    if feature < 27 { 64.0 } else { 56.0 }
}

/// Sum and variance of a metric over the leaves of a class that a method of the program made.
fn alive(profile: &Profile, metric: &str, class: &str, place: &str) -> (f64, f64) {
    let tree = profile.tree();
    let name = |node| tree.method(node).map(|method| profile.method_name(method));
    let is_of = |&node: &u32| {
        name(node).as_deref() == Some(&format!("{class} [allocated]"))
            && name(tree.parents()[node as usize]).as_deref() == Some(&format!("Survives.{place}"))
    };
    let nodes: Vec<u32> = (1..tree.len() as u32).filter(is_of).collect();
    let sum = |metric: &str| {
        let values = profile.metric(metric).unwrap_or_else(|| panic!("no {metric}")).values();
        nodes.iter().map(|&node| values[node as usize] as f64).sum::<f64>()
    };
    (sum(metric), sum(&format!("{metric}.variance")))
}

/// Numbers and bytes are those that there are, within five standard errors: beyond that is none of a million by chance.
fn assert_alive(run: &Run, class: &str, place: &str, objects: f64) {
    let profile = run.profile();
    for (metric, truth) in [("live.count", objects), ("live.bytes", objects * size(run.jdk.feature))] {
        let (sum, variance) = alive(profile, metric, class, place);
        let besides = too_early(run.jdk.feature) * truth;
        let errors = ((sum - truth).abs() - besides).max(0.0) / (variance.sqrt() + 1.0);
        assert!(
            errors <= 5.0,
            "{class} in {place}: {metric} {sum}, and there are {truth}; {errors:.1} errors"
        );
    }
}

/// What is garbage is not there, but for one or two that a register or a stack still had.
fn assert_gone(profile: &Profile, class: &str, place: &str, made: f64) {
    let (sum, _) = alive(profile, "live.count", class, place);
    assert!(sum <= made / 50.0, "{class} in {place}: {sum} of {made}");
}

fn report(file: &std::path::Path, by: &str) -> Value {
    let mut quipu = Command::new(&tools().quipu);
    let output = quipu.arg("report").arg(file).args(["--by", by, "--json"]).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn saved(profile: &Profile) -> std::path::PathBuf {
    let file = scratch("survivors").join("out.quipu");
    profile.save(&file).expect("it is written");
    file
}

#[test]
fn a_leak_is_told_from_garbage_and_from_a_cache() {
    let program = Program::new("Survives").arguments(["20"]).jvm(["-Xmx256m", "-XX:+UseParallelGC"]);
    program.quipu(["--live", "1009"]).since(11).on_every_jdk(|run| {
        assert!(run.status.success(), "{}", run.said());
        let profile = run.profile();
        assert!(profile.meta.lost.is_empty(), "lost {:?}", profile.meta.lost);
        assert_alive(run, "Survives$Kept", "keep", 20.0 * KEPT);
        assert_alive(run, "Survives$Cached", "cache", CACHED);
        assert_gone(profile, "Survives$Gone", "waste", 20.0 * 8_000.0);
        // A twentieth of what is kept was made in each round, and is as old as that.
        let (young, old) = ("live.bytes.age-1", "live.bytes.age-16");
        let kept = |metric: &str| {
            let values = profile.metric(metric).unwrap_or_else(|| panic!("no {metric}")).values();
            values.iter().sum::<u64>() as f64 / (20.0 * KEPT * size(run.jdk.feature))
        };
        assert!(kept(young) > 0.02 && kept(young) < 0.15, "{}", kept(young));
        assert!(kept(old) > 0.15 && kept(old) < 0.40, "{}", kept(old));
        // Only what is kept for ever grows.
        let leaks = report(&saved(profile), "leak");
        let rows = leaks["rows"].as_array().expect("rows");
        let of = |class: &str| rows.iter().filter(|row| row["class"] == class).collect::<Vec<_>>();
        assert_eq!(of("Survives$Kept").len(), 1, "{leaks}");
        assert!(of("Survives$Cached").is_empty() && of("Survives$Gone").is_empty(), "{leaks}");
        let leak = of("Survives$Kept")[0];
        assert_eq!(leak, &rows[0], "it is the first");
        assert_eq!(leak["context"][0], "Survives.keep", "{leak}");
        assert_eq!(leak["context"][2], "Survives.main", "{leak}");
        let growth = leak["growth"].as_f64().expect("a number");
        let expected = 19.0 * KEPT * size(run.jdk.feature);
        assert!((growth - expected).abs() < 0.25 * expected, "{growth}, and it grew by {expected}");
        assert!(leak["age"].as_u64().is_some_and(|age| (19..=25).contains(&age)), "{leak}");
    });
}

/// Two kinds want samples, at different intervals; each has its own sums.
#[test]
fn what_is_made_and_what_survives_are_told_together() {
    let program = Program::new("Survives").arguments(["8"]).jvm(["-Xmx256m", "-XX:+UseSerialGC"]);
    let finer = program.clone().quipu(["--live", "1009", "--alloc", "499", "--exact"]);
    for program in [program.quipu(["--live", "1009", "--alloc", "2003"]), finer] {
        program.since(11).on_every_jdk(|run| {
            assert!(run.status.success(), "{}", run.said());
            let profile = run.profile();
            assert_alive(run, "Survives$Kept", "keep", 8.0 * KEPT);
            let (made, variance) = alive(profile, "alloc.count", "Survives$Gone", "waste");
            let besides = 2.0 * too_early(run.jdk.feature) * 64_000.0;
            let errors = ((made - 64_000.0).abs() - besides).max(0.0) / variance.sqrt();
            assert!(errors <= 5.0, "{made} were made, and not 64000; {errors:.1} errors");
            assert_gone(profile, "Survives$Gone", "waste", 64_000.0);
        });
    }
}

#[test]
fn many_threads_and_a_target_that_is_terminated() {
    let program =
        Program::new("Survives").arguments(["3", "100", "TERM"]).jvm(["-Xmx256m", "-XX:+UseParallelGC"]);
    program.quipu(["--live", "2003"]).since(11).on_every_jdk(|run| {
        assert!(!run.status.success(), "it was ended by a signal: {}", run.said());
        assert_alive(run, "Survives$Kept", "keep", 300.0 * KEPT);
    });
}

#[test]
fn virtual_threads_make_what_survives() {
    let program =
        Program::new("SurvivesVirtual").arguments(["3", "200"]).jvm(["-Xmx256m", "-XX:+UseParallelGC"]);
    program.quipu(["--live", "2003"]).since(21).on_every_jdk(|run| {
        assert!(run.status.success(), "{}", run.said());
        assert_alive(run, "Survives$Kept", "keep", 600.0 * KEPT);
    });
}

/// Each time what survives of what was made since then, and nothing of before; the references of the first are gone.
#[test]
fn attached_again_it_begins_anew() {
    on_every_jdk(|jdk| {
        if jdk.feature < 11 {
            return;
        }
        let mut java = Command::new(jdk.home.join("bin/java"));
        java.args(["-Xmx512m", "-XX:+UseParallelGC", "-cp"]).arg(classes(jdk)).arg("Survives");
        java.current_dir(scratch("cwd")).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = java.spawn().expect("java starts");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("it works");
        assert_eq!(line.trim(), "working");
        let pid = child.id().to_string();
        for kinds in
            [&["--live", "2003"][..], &["--live", "2003", "--timeline"], &["--cpu"], &["--live", "4001"]]
        {
            let file = scratch("survivors").join("attached.quipu");
            let mut quipu = Command::new(&tools().quipu);
            let output = quipu
                .args(["attach", &pid])
                .args(kinds)
                .args(["-d", "1", "-o"])
                .arg(&file)
                .output()
                .expect("it runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let profile = Profile::load(&file).expect("a profile");
            assert_eq!(profile.metric("live.bytes").is_some(), kinds.contains(&"--live"));
            if profile.metric("live.bytes").is_none() {
                continue;
            }
            // Whole rounds, and one that was cut off at the end: what is cached is from one or two of them.
            let (kept, _) = alive(&profile, "live.count", "Survives$Kept", "keep");
            assert!(kept >= KEPT / 2.0, "{kept}");
            let (cached, variance) = alive(&profile, "live.count", "Survives$Cached", "cache");
            assert!(cached <= 2.0 * CACHED + 4.0 * variance.sqrt(), "{cached}");
        }
        writeln!(child.stdin.as_mut().expect("a pipe")).expect("it reads");
        line.clear();
        out.read_line(&mut line).expect("it ends");
        assert_eq!(line.trim(), "done");
        assert!(child.wait().expect("it ends").success());
    });
}
