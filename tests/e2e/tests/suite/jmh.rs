//! `quipu jmh`: JMH itself, and what it writes.

use std::fs;
use std::path::PathBuf;

use crate::OF_THE_PROJECT;
use quipu_e2e::{Command, library, on_every_jdk_since, scratch, tools};

const LIBRARIES: [&str; 4] = [
    "org.openjdk.jmh:jmh-core:1.37",
    "org.openjdk.jmh:jmh-generator-annprocess:1.37",
    "net.sf.jopt-simple:jopt-simple:5.0.4",
    "org.apache.commons:commons-math3:3.6.1",
];

#[test]
fn operations_are_counted_without_error() {
    let libraries: Vec<PathBuf> = LIBRARIES.iter().map(|name| library(name)).collect();
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/suite");
    on_every_jdk_since(OF_THE_PROJECT, |jdk| {
        let folder = scratch("jmh");
        let mut path = folder.clone().into_os_string();
        for jar in &libraries {
            path.push(":");
            path.push(jar);
        }
        let mut javac = Command::new(jdk.home.join("bin/javac"));
        javac
            .args(["-nowarn", "-processor", "org.openjdk.jmh.generators.BenchmarkProcessor", "-cp"])
            .arg(&path);
        javac.arg("-d").arg(&folder).arg(here.join("SortingBenchmark.java"));
        javac.arg(here.join("project/src/main/java/com/acme/Sorting.java"));
        let output = javac.output().expect("javac runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

        let mut quipu = Command::new(&tools().quipu);
        quipu.args(["jmh", "--"]).arg(jdk.home.join("bin/java")).arg("-cp").arg(&path);
        quipu.args(["org.openjdk.jmh.Main", "-prof", "quipu", "-f", "1", "-wi", "1", "-i", "3"]);
        quipu.args(["-w", "50ms", "-r", "50ms", "-rf", "json", "-rff", "result.json"]).current_dir(&folder);
        quipu.env_remove("JAVA_TOOL_OPTIONS").env_remove("JDK_JAVA_OPTIONS");
        let output = quipu.output().expect("quipu runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = fs::read_to_string(folder.join("result.json")).expect("JMH wrote its result");
        let results: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let metric = |benchmark: &str, name: &str| {
            let benchmark = format!("com.acme.SortingBenchmark.{benchmark}");
            let mut all = results.as_array().into_iter().flatten();
            let found = all.find(|result| result["benchmark"] == *benchmark).expect("the benchmark");
            let metric = &found["secondaryMetrics"][format!("quipu.{name}")];
            assert_eq!(metric["scoreUnit"], format!("{name}/op"), "{text}");
            assert_eq!(metric["scoreError"].as_f64(), Some(0.0), "{text}");
            metric["score"].as_f64()
        };
        // 2 to begin, 11 times the condition with 3, 10 times round with 14, 1 to return.
        assert_eq!(metric("pairs", "bytecodes"), Some(176.0), "{text}");
        assert_eq!(metric("pairs", "calls"), Some(11.0), "{text}");
        assert_eq!(metric("pairs", "allocations"), Some(10.0), "{text}");
        assert_eq!(metric("sort", "bytecodes"), Some(241_863.0), "{text}");
        assert_eq!(metric("sort", "allocations"), Some(0.0), "the clone is native: {text}");
    });
}
