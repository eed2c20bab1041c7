//! Sampled allocation against programs that make known numbers of objects.

use quipu_e2e::{Command, Program, Run, scratch, tools};
use quipu_profile::Profile;

use crate::too_early;

/// What there is of each thread in a round: class, place, objects and bytes. Headers have 12 bytes, those of arrays 16. Large
/// ones are made by a thread of their own: after one, HotSpot takes the next sample of the thread too early (JDK 17).
const MADE: [(&str, &str, f64, u64); 4] = [
    ("Makes$Small", "small", 2.0, 32),
    ("Makes$Other", "other", 1.0, 16),
    ("int[]", "array", 1.0, 416),
    ("byte[]", "large", 1.0 / 1000.0, (1 << 20) + 16),
];

/// Headers have 8 bytes where that is the default: one of the classes gets smaller.
fn size_on(feature: u32, class: &str, size: u64) -> u64 {
    if feature >= 27 && class == "Makes$Small" { 24 } else { size }
}

/// The values of a metric in leaves of a class below a method of the program.
fn made(profile: &Profile, metric: &str, class: &str, place: &str) -> u64 {
    let values = profile.metric(metric).unwrap_or_else(|| panic!("no {metric}")).values();
    let tree = profile.tree();
    let name = |node| tree.method(node).map(|method| profile.method_name(method));
    let is_of = |&node: &u32| {
        let parent = tree.parents()[node as usize];
        name(node).as_deref() == Some(&format!("{class} [allocated]"))
            && name(parent).as_deref() == Some(&format!("Makes.{place}"))
    };
    let nodes = (1..tree.len() as u32).filter(|&node| tree.method(node).is_some());
    nodes.filter(is_of).map(|node| values[node as usize]).sum()
}

/// `besides`: how far off sums may be for another reason than chance, as a share.
fn assert_made(run: &Run, threads: u64, rounds: u64, besides: f64) {
    assert!(run.status.success(), "{}", run.said());
    let profile = run.profile();
    assert!(profile.meta.lost.is_empty(), "lost {:?}", profile.meta.lost);
    let besides = besides.max(too_early(run.jdk.feature));
    let mut far = Vec::new();
    for (class, place, per_round, size) in MADE {
        let size = size_on(run.jdk.feature, class, size);
        let objects = (threads * rounds) as f64 * per_round;
        for (metric, truth) in [("alloc.count", objects), ("alloc.bytes", objects * size as f64)] {
            let found = made(profile, metric, class, place) as f64;
            let error = (made(profile, &format!("{metric}.variance"), class, place) as f64).sqrt();
            let off = ((found - truth).abs() - besides * truth).max(0.0);
            let errors = off / (error + 1.0);
            let what = format!("{class} in {place}: {metric} {found} +- {error:.0}, and there were {truth}");
            // Beyond three standard errors is one of 370, by chance; beyond five none of a million.
            assert!(errors <= 5.0, "{what}");
            if errors > 3.0 {
                far.push(what);
            }
        }
    }
    // Numbers and bytes of a class are off together.
    assert!(far.len() <= 2, "{far:?}");
}

/// Compressed references whatever the heap, so that sizes are known.
fn makes(threads: u64, rounds: u64) -> Program {
    let arguments = [threads.to_string(), rounds.to_string()];
    // The VM tells of objects that are made since then.
    Program::new("Makes").since(11).arguments(arguments).jvm(["-Xmx512m", "-XX:+UseParallelGC"])
}

#[test]
fn sums_are_those_of_all_objects() {
    makes(4, 100_000).quipu(["--alloc", "10007"]).on_every_jdk(|run| assert_made(run, 4, 100_000, 0.0));
}

/// Each thread's random distances begin with its address in HotSpot, and these are alike: samples of many threads that do the
/// same are not independent, and sums are further off than their number explains.
#[test]
fn hundreds_of_threads_are_sampled_alike() {
    makes(300, 2_000).quipu(["--alloc", "10007"]).on_every_jdk(|run| {
        assert_made(run, 300, 2_000, 0.1);
        let names = run.profile().threads().iter().map(|thread| run.profile().str(thread.name));
        assert!(names.into_iter().any(|name| name == "maker-#"), "{}", run.said());
    });
}

#[test]
fn objects_are_in_nodes_that_have_calls() {
    makes(2, 20_000).quipu(["--exact", "--alloc", "4999"]).on_every_jdk(|run| {
        assert_made(run, 2, 20_000, 0.0);
        let profile = run.profile();
        let (calls, tree) = (profile.metric("calls").expect("calls").values(), profile.tree());
        let bytes = profile.metric("alloc.bytes").expect("alloc.bytes").values();
        let of_work = |&node: &u32| tree.method(node).is_some_and(|m| profile.method_name(m) == "Makes.work");
        let works: Vec<u32> = (0..tree.len() as u32).filter(of_work).collect();
        assert_eq!(works.len(), 1, "one context, whatever measured it");
        let below = tree.subtree(works[0]).filter(|&node| bytes[node as usize] > 0);
        for leaf in below {
            let parent = tree.parents()[leaf as usize];
            assert!(calls[parent as usize] > 0, "{:?}", tree.method(parent).map(|m| profile.method_name(m)));
        }
    });
}

/// Of rows by thread and class, nineteen of twenty are within two standard errors, of numbers as of bytes.
#[test]
fn errors_are_those_that_are_stated() {
    let (threads, rounds) = (16, 20_000);
    // JDK 11 takes samples too early.
    let program = makes(threads, rounds).since(17);
    program.quipu(["--alloc", "3001", "--merge-threads", "never"]).on_every_jdk(|run| {
        let profile = run.profile();
        let tree = profile.tree();
        let values = |metric: &str| profile.metric(metric).unwrap_or_else(|| panic!("no {metric}")).values();
        let (mut rows, mut within, mut far) = (0, 0, Vec::new());
        for (class, place, per_round, size) in MADE.iter().copied().filter(|(class, ..)| *class != "byte[]") {
            let size = size_on(run.jdk.feature, class, size);
            for (metric, truth) in [("alloc.count", 1.0), ("alloc.bytes", size as f64)] {
                let truth = truth * rounds as f64 * per_round;
                let variances = values(&format!("{metric}.variance"));
                for node in 1..tree.len() as u32 {
                    let name = |node| tree.method(node).map(|method| profile.method_name(method));
                    let parent = tree.parents()[node as usize];
                    if name(node).as_deref() != Some(&format!("{class} [allocated]"))
                        || name(parent).as_deref() != Some(&format!("Makes.{place}"))
                    {
                        continue;
                    }
                    let (value, variance) =
                        (values(metric)[node as usize] as f64, variances[node as usize] as f64);
                    let errors = (value - truth) / variance.sqrt();
                    rows += 1;
                    within += i32::from(errors.abs() <= 2.0);
                    if errors.abs() > 2.0 {
                        far.push(format!("{class} {metric} {errors:.1}"));
                    }
                }
            }
        }
        assert_eq!(rows, 16 * 3 * 2, "{}", run.said());
        // By chance there are five of 96, and numbers and bytes of a row are off together.
        assert!(within >= rows * 85 / 100, "{within} of {rows}: {far:?}");
    });
}

/// Sites are class, method, bytecode index and line, without `--sites`.
#[test]
fn sites_are_instructions_that_make_objects() {
    makes(2, 20_000).quipu(["--alloc", "4999"]).on_every_jdk(|run| {
        let file = scratch("sites").join("out.quipu");
        run.profile().save(&file).expect("it is written");
        let report = |more: &[&str]| {
            let mut quipu = Command::new(&tools().quipu);
            let output =
                quipu.arg("report").arg(&file).args(["--by", "site"]).args(more).output().expect("it runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).expect("text")
        };
        let json: serde_json::Value = serde_json::from_str(&report(&["--json"])).expect("JSON");
        let rows = json["rows"].as_array().expect("rows");
        for (class, place, ..) in MADE {
            let of = |row: &&serde_json::Value| row["allocated"] == class && row["method"] == place;
            let found: Vec<_> = rows.iter().filter(of).collect();
            assert_eq!(found.len(), 1, "{class} is made at one place of {place}: {found:?}");
            let row = found[0];
            assert!(row["line"].as_u64().is_some() && row["bci"].as_i64() >= Some(0), "{row}");
            assert_eq!(row["alloc.bytes"].as_u64(), Some(made(run.profile(), "alloc.bytes", class, place)));
            assert_eq!(row["alloc.count"].as_u64(), Some(made(run.profile(), "alloc.count", class, place)));
            assert!(row["alloc.count_error"].as_f64().is_some(), "{row}");
        }
        let text = report(&["--filter", "Makes$Small"]);
        assert!(text.contains("Makes$Small  Makes.small  Makes.java:"), "{text}");
    });
}
