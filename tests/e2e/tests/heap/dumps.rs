//! Dumps, which the JVM writes.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

use quipu_e2e::{Command, Jdk, Working, classes, library, on_every_jdk, scratch, tools};

use crate::support::{Histogram, heap, histogram, json, text};

/// Of these the JVM counts objects that no dump has: classes in its archive that the program has not loaded.
const NOT_IN_DUMPS: &str = "java.lang.Class";
/// What the collector fills holes with has a class of its own in some versions, and is an array of int in dumps.
const FILLERS: [&str; 2] = ["int[]", "jdk.internal.vm.FillerElement[]"];

/// Objects of a class that the JVM counts, and leaves out of dumps: on Java 8 the one that stands for JNI references that were deleted.
fn left_out(jdk: &Jdk, class: &str) -> u64 {
    u64::from(jdk.feature == 8 && class == "java.lang.Object")
}

#[test]
fn a_dump_has_the_objects_that_the_jvm_counts_and_that_another_reader_finds() {
    on_every_jdk(|jdk| {
        let program = Working::start_program(jdk, "Leaking");
        let dump = scratch("heap").join("x.hprof");
        // Each collects garbage first; what the first clears is not there for the others.
        let before = histogram(&[&program.id(), "--live"]);
        assert!(heap(&["dump", &program.id(), "-o", text(&dump)]).status.success());
        let after = histogram(&[&program.id(), "--live"]);
        let packed = dump.with_extension("hprof.gz");
        assert!(heap(&["dump", &program.id(), "-o", text(&packed), "--gz"]).status.success());
        assert!(program.finish().lines().all(|line| line.starts_with("WARNING")));

        let ours = histogram(&[text(&dump)]);
        assert_eq!(ours["Leaking$Session"].0, 50_000);
        let mut differing = Vec::new();
        let names = ours
            .keys()
            .chain(before.keys())
            .filter(|name| *name != NOT_IN_DUMPS && !FILLERS.contains(&name.as_str()));
        for name in names {
            let objects = |histogram: &Histogram| histogram.get(name).map_or(0, |row| row.0);
            let dumped = objects(&ours) + left_out(jdk, name);
            if dumped != objects(&before) && dumped != objects(&after) {
                differing.push((name, objects(&before), objects(&ours), objects(&after)));
            }
        }
        assert_eq!(differing, [], "JDK {}", jdk.feature);
        // Sizes, which no dump has, are those of the JVM, too.
        for name in [
            "Leaking$Session",
            "Leaking$Order",
            "java.lang.String",
            "java.util.HashMap$Node",
            "java.lang.Integer",
            "java.util.ArrayList",
        ] {
            assert_eq!(ours[name].1, after[name].1, "{name} on JDK {}", jdk.feature);
        }
        assert_eq!(ours["byte[]"].1 / ours["byte[]"].0, after["byte[]"].1 / after["byte[]"].0);

        // Older JVMs cannot, and it is said so.
        assert_eq!(fs::read(&packed).unwrap()[..2] == [0x1f, 0x8b], jdk.feature >= 15);
        assert_eq!(histogram(&[text(&packed)])["Leaking$Session"], ours["Leaking$Session"]);
        assert_eq!(differences(&ours, &others(jdk, &dump)), Vec::<String>::new());
        questions(&dump);
        damaged(&dump);
    });
}

/// The JVM calls its command done when the disk was full, too.
#[test]
fn a_dump_that_is_cut_is_none() {
    on_every_jdk(|jdk| {
        let mut java = Command::new("sh");
        java.args(["-c", "ulimit -f 256; exec \"$@\"", "sh"]).arg(jdk.home.join("bin/java"));
        java.arg("-cp").arg(classes(jdk)).arg("Working").current_dir(scratch("cwd"));
        java.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut java = java.spawn().expect("it starts");
        let mut out = BufReader::new(java.stdout.take().expect("a pipe"));
        out.read_line(&mut String::new()).expect("it works");
        let directory = scratch("cut");
        let output = heap(&["dump", &java.id().to_string(), "-o", text(&directory.join("x.hprof"))]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("could not write its whole heap: "), "{said}");
        assert_eq!(fs::read_dir(&directory).expect("it is there").count(), 0, "nothing is left");
        java.stdin.as_mut().expect("a pipe").write_all(b"\n").expect("it reads");
        java.wait().expect("it ends");
    });
}

/// What the NetBeans profiler's library finds in a dump.
fn others(jdk: &Jdk, dump: &Path) -> BTreeMap<String, u64> {
    let jar = library("org.netbeans.modules:org-netbeans-lib-profiler:RELEASE220");
    let classes = scratch("other-reader");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../readers/OtherReader.java");
    let compiled = Command::new(jdk.home.join("bin/javac"))
        .arg("-cp")
        .arg(&jar)
        .arg("-d")
        .arg(&classes)
        .arg(source)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let path = format!("{}:{}", classes.display(), jar.display());
    let output = Command::new(jdk.home.join("bin/java"))
        .args(["-cp", &path, "OtherReader"])
        .arg(dump)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut counts = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let (count, name) = line.split_once(' ').expect("a count and a name");
        *counts.entry(name.replace("+0x", "/0x")).or_insert(0) += count.parse::<u64>().expect("a count");
    }
    counts
}

fn differences(ours: &Histogram, others: &BTreeMap<String, u64>) -> Vec<String> {
    let names = ours.keys().chain(others.keys()).filter(|name| *name != NOT_IN_DUMPS);
    let differing = names
        .filter(|name| ours.get(*name).map_or(0, |row| row.0) != others.get(*name).copied().unwrap_or(0));
    differing.map(|name| format!("{name}: {:?}, others {:?}", ours.get(name), others.get(name))).collect()
}

/// The leak is named with its path, and everything else that there is in it on purpose is found.
fn questions(dump: &Path) {
    let file = text(dump);
    let suspect = &json(&["leaks", file])["rows"][0];
    assert_eq!(suspect["place"], "Leaking.SESSIONS", "{suspect}");
    assert_eq!(suspect["held"][0]["class"], "java.util.HashMap$Node");
    let summary = heap(&[file]);
    let said = String::from_utf8_lossy(&summary.stdout).into_owned();
    assert!(summary.status.success() && said.contains("1. Leaking.SESSIONS holds"), "{said}");
    // The same for programs, and the sums are those of the other commands.
    let whole = json(&[file]);
    assert_eq!(whole["suspects"][0]["place"], "Leaking.SESSIONS", "{whole}");
    let all = json(&["histo", file, "--limit", "0"]);
    let sum =
        |of: &str| all["rows"].as_array().unwrap().iter().filter_map(|row| row[of].as_u64()).sum::<u64>();
    assert_eq!(
        (whole["objects"].as_u64(), whole["bytes"].as_u64()),
        (Some(sum("objects")), Some(sum("bytes")))
    );
    let parts = ["reachable", "weakly", "unreachable"].map(|part| whole[part]["objects"].as_u64().unwrap());
    assert_eq!(Some(parts.iter().sum()), whole["objects"].as_u64());
    assert_eq!(whole["classes"][0], json(&["dominators", file, "--by", "class"])["rows"][0]);
    assert!(
        whole["strings"]["duplicates"][0]["copies"] == 5_000
            && whole["biggest"].as_array().unwrap().len() == 3
    );
    assert!(whole["made"].is_null() && whole["damage"].as_array().is_some_and(Vec::is_empty), "{whole}");
    // The program's classes are of one loader, the JDK's of another; nothing is of none.
    let loaders = json(&["dominators", file, "--by", "loader", "--limit", "0"])["rows"].clone();
    let of = |name: &str| {
        loaders.as_array().unwrap().iter().find(|row| row["loader"].as_str().unwrap().contains(name)).cloned()
    };
    let (app, boot) = (of("AppClassLoader").expect("the program's"), of("boot loader").expect("the JDK's"));
    let own = |class: &str| {
        all["rows"].as_array().unwrap().iter().find(|row| row["class"] == class).unwrap()["objects"]
            .as_u64()
            .unwrap()
    };
    assert!(app["objects"].as_u64() >= Some(own("Leaking$Session") + own("Leaking$Order")), "{app}");
    assert!(boot["objects"].as_u64() >= Some(own("java.lang.String")), "{boot}");
    assert!(app["retained"].as_u64() > app["bytes"].as_u64());

    let paths = json(&["paths", file, "Leaking$Session"]);
    let steps = paths["rows"][0]["steps"].as_array().expect("steps");
    let way: Vec<&str> =
        steps.iter().rev().take(5).rev().map(|step| step["class"].as_str().expect("a class")).collect();
    let classes = [
        "Leaking",
        "java.util.HashMap",
        "java.util.HashMap$Node[]",
        "java.util.HashMap$Node",
        "Leaking$Session",
    ];
    assert_eq!(way, classes);
    assert_eq!((&paths["instances"], &paths["looked_at"]), (&50_000.into(), &paths["reached"]));

    let strings = json(&["strings", file]);
    assert!(
        strings["rows"]
            .as_array()
            .unwrap()
            .iter()
            .take(10)
            .all(|row| { row["copies"] == 5_000 && row["text"].as_str().unwrap().starts_with("user-") }),
        "{strings}"
    );
    let collections = json(&["collections", file]);
    let lists = collections["rows"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["class"] == "java.util.ArrayList")
        .unwrap();
    assert!(lists["collections"].as_u64() >= Some(1_001) && lists["empty"].as_u64() >= Some(100), "{lists}");

    let listed = json(&["list", file, "Leaking$Order", "--where", "items.size >= 8", "--limit", "3"]);
    assert_eq!((&listed["total"]["objects"], listed["rows"].as_array().unwrap().len()), (&200.into(), 3));
    let id = listed["rows"][0]["id"].as_str().unwrap();
    let object = json(&["object", file, id]);
    assert_eq!((&object["class"], &object["fields"][0]["name"]), (&"Leaking$Order".into(), &"items".into()));
    assert!(object["retained"].as_u64() > object["bytes"].as_u64());
    assert_eq!(object["dominator"]["class"], "Leaking$Order[]");

    // What it holds is the same whether tables are in memory or in files.
    let in_files = scratch("index");
    let held = |more: &[&str]| json(&[&["dominators", file, "--by", "class", "--limit", "0"], more].concat());
    assert_eq!(held(&[]), held(&["--index", text(&in_files)]));
    assert_eq!(fs::read_dir(in_files).unwrap().count(), 0);
}

/// A dump that is cut off is told, with the place, and read as far as it goes.
fn damaged(dump: &Path) {
    let bytes = fs::read(dump).unwrap();
    let cut = dump.with_file_name("cut.hprof");
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let output = heap(&["histo", text(&cut), "--json"]);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("offset") && err.contains("objects could be read"), "{err}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("java.lang.String"));
    // Of a compressed one that is cut off, what could be unpacked is read.
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&bytes).unwrap();
    let packed = packed.finish().unwrap();
    let cut_packed = dump.with_file_name("cut.hprof.gz");
    fs::write(&cut_packed, &packed[..packed.len() / 2]).unwrap();
    let output = heap(&["histo", text(&cut_packed), "--json"]);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("ends too early") && err.contains("objects could be read"), "{err}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("java.lang.String"));
    fs::write(&cut, "no dump").unwrap();
    let output = heap(&["histo", text(&cut)]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not a heap dump"));
}

/// Of two dumps, what was made in between; and where it was made, by a profile of that time.
#[test]
fn dumps_are_compared_and_linked_to_sites() {
    on_every_jdk(|jdk| {
        let program = Working::start_with(jdk, &["-Xmx512m", "-XX:+UseParallelGC"], "Survives");
        let folder = scratch("linked");
        let (a, b, profile) = (folder.join("a.hprof"), folder.join("b.hprof"), folder.join("p.quipu"));
        assert!(heap(&["dump", &program.id(), "-o", text(&a)]).status.success());
        if jdk.feature >= 11 {
            let mut quipu = Command::new(&tools().quipu);
            let output = quipu
                .args(["attach", &program.id(), "--live", "4001", "-d", "1", "-o"])
                .arg(&profile)
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let counts = |file: &Path| histogram(&[text(file)])["Survives$Kept"].0;
        // It goes on with or without us, for as long as it takes.
        loop {
            let _ = fs::remove_file(&b);
            assert!(heap(&["dump", &program.id(), "-o", text(&b)]).status.success());
            if counts(&b) > counts(&a) {
                break;
            }
        }
        program.finish();
        let rows = json(&["diff", text(&a), text(&b), "--limit", "0"])["rows"].clone();
        let kept = rows
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["class"] == "Survives$Kept")
            .expect("it grew")
            .clone();
        assert_eq!(
            (kept["objects"]["before"].as_u64(), kept["objects"]["after"].as_u64()),
            (Some(counts(&a)), Some(counts(&b)))
        );
        assert_eq!(
            kept["bytes"]["after"].as_u64(),
            Some(if jdk.feature < 27 { 64 } else { 56 } * counts(&b))
        );
        if jdk.feature < 11 {
            return;
        }
        let linked = json(&[text(&b), "--profile", text(&profile)]);
        let made = linked["made"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["class"] == "Survives$Kept")
            .expect("a site")
            .clone();
        assert_eq!(
            (&made["sites"][0]["class"], &made["sites"][0]["method"]),
            (&"Survives".into(), &"keep".into()),
            "{made}"
        );
        assert!(made["sites"][0]["line"].as_u64().is_some(), "{made}");
        let said = heap(&[text(&b), "--profile", text(&profile)]);
        assert!(String::from_utf8_lossy(&said.stdout).contains("Survives.keep  Survives.java:"));
    });
}

#[test]
fn what_grew_is_told() {
    let folder = scratch("diff");
    let (a, b) = (folder.join("a.txt"), folder.join("b.txt"));
    fs::write(&a, " num     #instances         #bytes  class name (module)\n   1:  10  240  [B (java.base@17)\n   2:  3  48  a.B\n").unwrap();
    fs::write(&b, " num     #instances         #bytes  class name (module)\n   1:  15  360  [B (java.base@17)\n   2:  1  16  a.B\n").unwrap();
    let rows = json(&["diff", text(&a), text(&b)])["rows"].clone();
    assert_eq!(rows[0]["class"], "byte[]");
    assert_eq!((&rows[0]["objects"]["before"], &rows[0]["objects"]["after"]), (&10.into(), &15.into()));
    assert_eq!(rows[1]["class"], "a.B");
}
