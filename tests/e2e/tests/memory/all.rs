//! Exact allocation against a program that makes known numbers of objects in every way that code has.

use std::cell::RefCell;
use std::collections::BTreeMap;

use quipu_e2e::{Program, Run};
use quipu_profile::Profile;

use crate::HEADERS;

const ROUNDS: u64 = 5_000;

/// What there is of each class in a round, and its size with compressed references. Some of it the JDK makes, too, at its start.
const MADE: [(&str, u64, u64); 16] = [
    ("MakesAll$Plain", 2, 24),
    ("MakesAll$Plain[]", 1, 40),
    ("boolean[]", 1, 24),
    ("double[]", 1, 56),
    ("int[][][]", 1, 24),
    ("int[][]", 2, 32),
    ("int[]", 8, 24),
    ("short[][][]", 1, 24),
    ("short[][]", 2, 32),
    ("java.lang.Integer", 1, 16),
    ("java.lang.Long", 1, 24),
    ("MakesAll$Copied", 1, 16),
    ("MakesAll$Reflected", 1, 16),
    ("MakesAll$Stored", 1, 16),
    ("MakesAll$$Lambda", 1, 16),
    ("long[][]", 1, 24),
];

/// What a method of the program makes in a round, itself or by what it calls: class, objects, bytes of all of them together.
const BY_METHOD: [(&str, &str, u64, u64); 15] = [
    ("plain", "MakesAll$Plain", 1, 24),
    ("primitives", "boolean[]", 1, 24),
    ("primitives", "char[]", 1, 32),
    ("primitives", "double[]", 1, 56),
    ("boxed", "java.lang.Integer", 1, 16),
    ("boxed", "java.lang.Long", 1, 24),
    ("text", "java.lang.StringBuilder", 1, 24),
    ("concatenated", "byte[]", 1, 32),
    ("copies", "long[]", 2, 72),
    ("copies", "java.lang.String[]", 1, 32),
    ("byReflection", "byte[]", 1, 24),
    ("byReflection", "int[]", 1, 24),
    ("byReflection", "long[]", 2, 80),
    ("byReflection", "long[][]", 1, 24),
    ("lambda", "MakesAll$$Lambda", 1, 16),
];

/// From here on the JDK has code of its own made for each concatenation, which no agent is shown; that makes the string.
const HIDES_CONCATENATION: u32 = 24;

/// Instructions of the program that make something, found by their text: class, method, objects, bytes.
const SITES: [(&str, &str, &str, u64, u64); 14] = [
    ("last = new Plain();", "MakesAll$Plain", "plain", 1, 24),
    ("Plain plain = new Plain();", "MakesAll$Plain", "unneeded", 1, 24),
    ("last = new boolean[5];", "boolean[]", "primitives", 1, 24),
    ("last = new char[5];", "char[]", "primitives", 1, 32),
    ("last = new double[5];", "double[]", "primitives", 1, 56),
    ("last = new Plain[5];", "MakesAll$Plain[]", "references", 1, 40),
    ("last = new int[2][3][4];", "int[][][]", "arraysOfArrays", 1, 24),
    ("last = new int[2][3][4];", "int[][]", "arraysOfArrays", 2, 64),
    ("last = new int[2][3][4];", "int[]", "arraysOfArrays", 6, 192),
    ("last = new short[2][3][];", "short[][]", "arraysOfArrays", 2, 64),
    ("last = new StringBuilder()", "java.lang.StringBuilder", "text", 1, 24),
    ("last = numbers.clone();", "long[]", "copies", 1, 40),
    ("last = Array.newInstance(byte.class, 5);", "byte[]", "byReflection", 1, 24),
    ("last = Array.newInstance(long.class, 2, 3);", "long[][]", "byReflection", 1, 24),
];

/// Objects and bytes of all classes.
fn classes(profile: &Profile) -> BTreeMap<String, [u64; 2]> {
    let values = |metric| profile.metric(metric).unwrap_or_else(|| panic!("no {metric}")).values();
    let (counts, bytes) = (values("alloc.count"), values("alloc.bytes"));
    let mut classes: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for node in 1..profile.tree().len() as u32 {
        let name = profile.tree().method(node).map(|method| profile.method_name(method));
        if let Some(class) = name.as_deref().and_then(|name| name.strip_suffix(" [allocated]")) {
            let [count, sum] = classes.entry(class.to_owned()).or_default();
            (*count, *sum) = (*count + counts[node as usize], *sum + bytes[node as usize]);
        }
    }
    classes
}

fn assert_made(run: &Run) {
    assert!(run.status.success(), "{}", run.said());
    let profile = run.profile();
    assert!(profile.meta.lost.is_empty(), "lost {:?}", profile.meta.lost);
    let made = classes(profile);
    for (class, per_round, size) in MADE {
        let [count, bytes] = made.get(class).copied().unwrap_or_default();
        let truth = per_round * ROUNDS;
        // The JDK has some of its own: of arrays of any length.
        let own = if class.starts_with("MakesAll") { 3 } else { 1_000 };
        assert!((truth..=truth + own).contains(&count), "{class}: {count}, and there were {truth}");
        if class.starts_with("MakesAll") || class.starts_with("java") {
            assert_eq!(bytes, count * size, "{class}: {count} in {bytes} bytes");
        } else {
            assert!(bytes >= truth * size, "{class}: {bytes} bytes, and there were {}", truth * size);
        }
    }
    for levels in 2..=101 {
        let class = format!("MakesAll$Plain{}", "[]".repeat(levels));
        assert_eq!(made.get(&class).map(|[count, _]| *count), Some(ROUNDS), "{class}");
    }
    assert_eq!(
        made.get("float[]").map_or(0, |[count, _]| *count / 100),
        0,
        "none was made: they were too short"
    );
}

fn makes() -> Program {
    Program::new("MakesAll")
        .arguments([ROUNDS.to_string()])
        .jvm(["-Xmx512m", "-XX:+UseParallelGC"])
        .jvm(HEADERS)
}

#[test]
fn everything_that_is_made_is_counted_whatever_compiles_it() {
    let modes = ["-Xmixed", "-Xint", "-Xcomp", "-XX:TieredStopAtLevel=1"];
    let first: RefCell<BTreeMap<String, BTreeMap<String, [u64; 2]>>> = RefCell::default();
    for mode in modes {
        makes().jvm([mode]).quipu(["--alloc", "all"]).on_every_jdk(|run| {
            assert_made(run);
            let jdk = run.profile().meta.jvm.version.clone();
            let made = classes(run.profile());
            let mine = |made: &BTreeMap<String, [u64; 2]>| {
                made.iter()
                    .filter(|(class, _)| class.starts_with("MakesAll"))
                    .map(|(class, sums)| (class.clone(), *sums))
                    .collect::<Vec<_>>()
            };
            let mut first = first.borrow_mut();
            let same = first.entry(jdk).or_insert_with(|| made.clone());
            assert_eq!(mine(same), mine(&made), "{mode}");
            // Of these the JDK makes some, too, but by far not one a round.
            for class in ["byte[]", "int[]"] {
                let (before, now) = (same[class][0], made[class][0]);
                assert!(before.abs_diff(now) < ROUNDS / 2, "{class}: {now} with {mode}, and {before} before");
            }
        });
    }
}

/// Objects and bytes by method of the program, wherever below it they are made, and class.
fn by_method(profile: &Profile) -> BTreeMap<(String, String), [u64; 2]> {
    let values = |metric| profile.metric(metric).unwrap_or_else(|| panic!("no {metric}")).values();
    let (counts, bytes) = (values("alloc.count"), values("alloc.bytes"));
    let tree = profile.tree();
    let name = |node: u32| tree.method(node).map(|method| profile.method_name(method)).unwrap_or_default();
    let mut made: BTreeMap<(String, String), [u64; 2]> = BTreeMap::new();
    for node in 1..tree.len() as u32 {
        let leaf = name(node);
        let Some(class) = leaf.strip_suffix(" [allocated]") else { continue };
        let path = tree.path(node);
        let methods = path.into_iter().rev().map(name);
        let Some(method) = methods.filter_map(|of| of.strip_prefix("MakesAll.").map(str::to_owned)).next()
        else {
            continue;
        };
        let [count, sum] = made.entry((method, class.to_owned())).or_default();
        (*count, *sum) = (*count + counts[node as usize], *sum + bytes[node as usize]);
    }
    made
}

/// Strings, boxes, copies and what reflection makes, below the methods that ask for them.
#[test]
fn what_the_jdk_makes_is_below_the_method_that_asked_for_it() {
    makes().since(9).quipu(["--exact", "--alloc", "all"]).on_every_jdk(|run| {
        assert!(run.status.success(), "{}", run.said());
        let made = by_method(run.profile());
        let of = |method: &str, class: &str| {
            made.get(&(method.to_owned(), class.to_owned())).copied().unwrap_or_default()
        };
        // Before JDK 17 (seen on 11) a method handle makes the array, too.
        let has_array =
            |&(method, ..): &(&str, &str, u64, u64)| method != "concatenated" || run.jdk.feature >= 17;
        for (method, class, count, bytes) in BY_METHOD.into_iter().filter(has_array) {
            assert_eq!(of(method, class), [count * ROUNDS, bytes * ROUNDS], "{class} in {method}");
        }
        let strings = if run.jdk.feature < HIDES_CONCATENATION { ROUNDS } else { 0 };
        assert_eq!(
            of("concatenated", "java.lang.String"),
            [strings, strings * 24],
            "JDK {}",
            run.jdk.feature
        );
        // The JIT may replace how a builder makes its text, so that is in no context, but it is there.
        let [texts, _] = classes(run.profile()).get("java.lang.String").copied().unwrap_or_default();
        assert!(texts >= ROUNDS + strings, "{texts} strings");
    });
}

/// `report --by site` has each instruction with its line.
#[test]
fn each_instruction_is_a_site() {
    let source = std::fs::read_to_string(quipu_e2e::programs().join("MakesAll.java")).expect("the source");
    let line_of = |text: &str| {
        let lines: Vec<usize> =
            source.lines().zip(1..).filter(|(line, _)| line.contains(text)).map(|(_, at)| at).collect();
        assert_eq!(lines.len(), 1, "{text}");
        lines[0] as u64
    };
    makes().quipu(["--alloc", "all"]).on_every_jdk(|run| {
        let options = quipu_report::Options {
            by: quipu_report::By::Site,
            metric: Some("alloc.count,alloc.bytes".to_owned()),
            ..quipu_report::Options::default()
        };
        let report = quipu_report::json(run.profile(), &options).expect("a report");
        let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
        let rows = report["rows"].as_array().expect("rows");
        for (text, class, method, count, bytes) in SITES {
            let line = line_of(text);
            let is_it = |row: &&serde_json::Value| {
                row["allocated"] == class && row["class"] == "MakesAll" && row["line"] == line
            };
            let found: Vec<_> = rows.iter().filter(is_it).collect();
            let [row] = found[..] else { panic!("{class} at line {line}: {found:?}") };
            assert_eq!((&row["method"], &row["source"]), (&method.into(), &"MakesAll.java".into()));
            let sums = (&row["alloc.count"], &row["alloc.bytes"]);
            assert_eq!(sums, (&(count * ROUNDS).into(), &(bytes * ROUNDS).into()), "{class} at line {line}");
        }
        // For people, what a method makes stands below it: 9 arrays of the one, 3 of the other line.
        let options = quipu_report::Options {
            metric: Some("alloc.count".to_owned()),
            filter: Some("MakesAll.arraysOfArrays".to_owned()),
            ..options
        };
        let text = quipu_report::text(run.profile(), &options, &quipu_report::Style::default());
        let text = text.expect("a report");
        let lines: Vec<&str> = text.lines().collect();
        let heading = lines.iter().position(|line| line.ends_with("  MakesAll.arraysOfArrays"));
        let heading = heading.unwrap_or_else(|| panic!("{text}"));
        let count = lines[heading].split_whitespace().next().map(|count| count.replace(',', ""));
        assert_eq!(count, Some((12 * ROUNDS).to_string()), "{text}");
        let first = lines[heading + 1];
        assert!(first.contains("    int[]  MakesAll.java:"), "{text}");
    });
}

#[test]
fn with_contexts_it_is_in_the_nodes_that_have_calls() {
    makes().quipu(["--exact", "--alloc", "all"]).on_every_jdk(|run| {
        assert_made(run);
        let profile = run.profile();
        let tree = profile.tree();
        let [counts, calls] = ["alloc.count", "calls"].map(|name| profile.metric(name).expect(name).values());
        let name =
            |node: u32| tree.method(node).map(|method| profile.method_name(method)).unwrap_or_default();
        let (mut called, mut all) = (0, 0);
        for node in 1..tree.len() as u32 {
            let count = counts[node as usize];
            if count > 0 {
                let above = tree.parents()[node as usize];
                all += count;
                called += if calls[above as usize] > 0 { count } else { 0 };
                if name(node) == "MakesAll$Plain [allocated]" {
                    assert_eq!((calls[above as usize], count), (ROUNDS, ROUNDS), "in {}", name(above));
                }
            }
        }
        // Boxes are made by methods that the JIT may replace, which have no counts of their own.
        assert!(called * 100 >= all * 80, "{called} of {all} are in contexts that were counted");
    });
}

/// What libraries and the VM make is in no code that could be rewritten: it is estimated.
#[test]
fn what_native_code_makes_is_estimated() {
    let program = Program::new("ByNatives").since(11).arguments(["20000"]).quipu(["--alloc", "all"]);
    program.on_every_jdk(|run| {
        assert!(run.status.success(), "{}", run.said());
        let total = |metric| run.profile().metric(metric).map_or(0, |metric| metric.total());
        // Names of files alone are 3 strings a round, at the least.
        assert!(total("alloc.native") > 20_000 * 3 * 40, "{} bytes", total("alloc.native"));
        let made = classes(run.profile());
        assert_eq!(made.get("java.io.File").map(|[count, _]| *count / 20_000), Some(1), "{made:?}");
    });
}

#[test]
fn what_virtual_threads_make_is_counted() {
    let program = Program::new("WorksVirtual").arguments(["100", "200"]).jvm(HEADERS).since(21);
    for options in [&["--alloc", "all"][..], &["--exact", "--alloc", "all"]] {
        program.clone().quipu_all(options).on_every_jdk(|run| {
            assert!(run.status.success(), "{}", run.said());
            assert!(run.profile().meta.lost.is_empty(), "lost {:?}", run.profile().meta.lost);
            let made = classes(run.profile());
            assert_eq!(made["WorksVirtual$Made"], [20_000, 20_000 * 24], "{options:?}");
            assert_eq!(made["WorksVirtual$Monitor"], [100, 100 * 16], "{options:?}");
            let [arrays, _] = made["int[]"];
            assert!((20_000..21_000).contains(&arrays), "{arrays} arrays; {options:?}");
        });
    }
}
