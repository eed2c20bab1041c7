//! `quipu gate` with profiles of real JVMs: two versions of a program that differ in one line.
#![allow(missing_docs, reason = "tests say what they test by their names")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use quipu_e2e::{Command, Jdk, on_every_jdk, scratch, tools};

const SOURCE: &str = include_str!("Orders.java");

/// The line, and what it becomes.
const LINE: &str = "long price = base + discount(order);";
const LONGER: &str = "long price = base + discount(order) + discount(3);";

/// The profile of a version of the program.
fn profile(jdk: &Jdk, source: &str, options: &[&str]) -> PathBuf {
    let folder = scratch("gate");
    let file = folder.join("Orders.java");
    fs::write(&file, source).expect("a source can be written");
    let mut javac = Command::new(jdk.home.join("bin/javac"));
    assert!(javac.arg("-g").arg("-d").arg(&folder).arg(&file).status().expect("javac runs").success());
    let profile = folder.join("new.quipu");
    let mut run = Command::new(&tools().quipu);
    run.args(["run", "--deterministic"]).args(options).arg("-o").arg(&profile).arg("--");
    run.arg(jdk.home.join("bin/java")).arg("-cp").arg(&folder).arg("Orders");
    run.env_remove("JAVA_TOOL_OPTIONS").env_remove("JDK_JAVA_OPTIONS").current_dir(&folder);
    let output = run.output().expect("quipu runs");
    assert!(output.status.success(), "{}", said(&output));
    profile
}

fn gate(baseline: &Path, new: &Path, options: &[&str]) -> (Option<i32>, String) {
    let mut gate = Command::new(&tools().quipu);
    let output =
        gate.arg("gate").arg("--baseline").arg(baseline).arg(new).args(options).output().expect("quipu runs");
    (output.status.code(), said(&output))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn the_same_program_passes_and_one_changed_line_is_named() {
    on_every_jdk(|jdk| {
        let base = profile(jdk, SOURCE, &["--sites"]);
        let again = profile(jdk, SOURCE, &["--sites"]);
        let (status, text) = gate(&base, &again, &["--max", "0%"]);
        assert_eq!(status, Some(0), "{text}");

        assert!(SOURCE.contains(LINE));
        let longer = profile(jdk, &SOURCE.replace(LINE, LONGER), &["--sites"]);
        let (status, text) = gate(&base, &longer, &[]);
        assert_eq!(status, Some(1), "{text}");
        // discount(3) is 39 bytecodes; the call and the addition are three more. 500 orders.
        assert!(text.contains("+21,000 bytecodes  Orders.price (Orders.java:20)"), "{text}");
        assert!(text.contains("calls Orders.discount 500 times more (+19,500)"), "{text}");
        assert!(text.contains("in thread main > Orders.main > Orders.price\n"), "{text}");
        assert!(!text.contains("  2. "), "one line, one culprit: {text}");

        assert_eq!(gate(&base, &longer, &["--max", "0.5%", "--max-absolute", "21000"]).0, Some(0));
        assert_eq!(gate(&base, &longer, &["--update"]).0, Some(0));
        let (status, text) = gate(&base, &longer, &["--max", "0%"]);
        assert_eq!(status, Some(0), "accepted: {text}");
    });
}

#[test]
fn renaming_and_reordering_passes() {
    on_every_jdk(|jdk| {
        let from = SOURCE.find("    static long price").expect("price");
        let to = SOURCE.find("    private static long discount").expect("discount");
        let end = SOURCE.rfind('}').expect("an end");
        let reordered = [&SOURCE[..from], &SOURCE[to..end], "\n", &SOURCE[from..to], "}\n"].concat();
        let renamed = reordered.replace("discount", "rebate");
        let (base, new) = (profile(jdk, SOURCE, &[]), profile(jdk, &renamed, &[]));
        let (status, text) = gate(&base, &new, &["--max", "0%"]);
        assert_eq!(status, Some(0), "{text}");
        assert!(text.contains("Orders.discount is now Orders.rebate, same work"), "{text}");
    });
}

#[test]
fn other_options_are_not_compared() {
    on_every_jdk(|jdk| {
        let (base, new) = (profile(jdk, SOURCE, &[]), profile(jdk, SOURCE, &["--bba", "precise"]));
        let (status, text) = gate(&base, &new, &[]);
        assert_eq!(status, Some(2), "{text}");
        assert!(
            text.contains("the option bba is default in the baseline, precise in the new profile"),
            "{text}"
        );
        assert_ne!(gate(&base, &new, &["--force"]).0, Some(2));
    });
}
