//! The suite with programs whose answers are known: a planted slowdown, a wrong output, a JVM that does not start.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use quipu_bench::history::History;
use quipu_bench::jdk::Jdk;
use quipu_bench::plan::Limit;
use quipu_bench::profiler::{Origin, Profiler};
use quipu_bench::program::Program;
use quipu_bench::progress::Progress;
use quipu_bench::report;
use quipu_bench::run::Ending;
use quipu_bench::schedule::{Contender, Record, Schedule};
use quipu_bench::statistics::estimate;
use quipu_bench::summary::Row;
use quipu_bench::workshop::Workshop;

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sources")
}

/// The shared Java files come from the suite itself; everything made goes to a directory per test.
fn workshop(test: &str) -> Workshop {
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&made).unwrap();
    Workshop { sources: Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), made }
}

fn peer(name: &str) -> Profiler {
    Profiler::load_all(&sources().join("peers"), Origin::Peer).unwrap().remove(name).unwrap()
}

fn records(test: &str, program: &str, against: &[&str], rounds: usize) -> (Vec<Record>, Program) {
    let program = Program::load_all(&sources().join("programs")).unwrap().remove(program).unwrap();
    let mut contenders: Vec<Contender> = vec![(Profiler::plain(), PathBuf::new())];
    contenders.extend(against.iter().map(|name| (peer(name), PathBuf::new())));
    let jdk = Jdk::wanted(&[]).unwrap().remove(0);
    let workshop = workshop(test);
    let limit = Limit { patience: 100, least: Duration::from_secs(60) };
    let schedule = Schedule { workshop: &workshop, rounds, quick: false, limit };
    let records = schedule
        .program((&program, &jdk), &contenders, &mut Progress::new(History::default(), 0.0, false))
        .unwrap();
    (records, program)
}

/// Eleven rounds, and the whole range of their ratios: it misses the true one in one of a thousand runs of this test
/// at most. CPU time, because the tests run next to each other.
#[test]
fn a_planted_slowdown_of_a_tenth_is_found() {
    let (records, program) = records("planted", "busy", &["tenth", "same"], 11);
    let row = |name| Row::of(&records, &peer(name), program.split(false));
    let tenth = estimate(&row("tenth").per_round[2], 0.999).unwrap();
    assert!(tenth.confidence > 0.999 && tenth.rounds == 11, "{tenth:?}");
    assert!(tenth.low <= 1.10 && 1.10 <= tenth.high, "the interval does not cover 1.10: {tenth:?}");
    assert!((tenth.median - 1.10).abs() < 0.05, "{tenth:?}");
    let same = estimate(&row("same").per_round[2], 0.999).unwrap();
    assert!(same.low <= 1.0 && 1.0 <= same.high, "the interval does not cover 1.00: {same:?}");
    assert!((same.median - 1.0).abs() < 0.05, "{same:?}");
}

#[test]
fn a_wrong_output_is_told_with_what_it_was() {
    let (records, program) = records("liar", "liar", &["lie"], 2);
    let row = Row::of(&records, &peer("lie"), program.split(false));
    assert!(row.wrong && row.wall.is_none());
    assert!(
        report::notes(std::slice::from_ref(&row))[0]
            .contains("WRONG OUTPUT: iteration 0 came to 2, which must be 1")
    );
    assert!(report::table(&[row]).text().contains("WRONG"));
    // Once is enough to know.
    assert_eq!(records.iter().filter(|record| record.profiler == "lie").count(), 1);
}

#[test]
fn a_jvm_that_does_not_start_is_told_with_what_it_printed() {
    let (records, program) = records("dies", "busy", &["dies"], 1);
    let row = Row::of(&records, &peer("dies"), program.split(false));
    assert!(
        matches!(&records[1].run.ending, Ending::Failed(why) if why.contains("NoSuchFlagAtAll")),
        "{records:?}"
    );
    assert!(row.failure.is_some_and(|failure| failure.contains("NoSuchFlagAtAll")) && !row.wrong);
}

/// As a user sees it: exit status 1 and the reason on the standard error output.
#[test]
fn the_command_fails_when_an_output_is_wrong_without_a_profiler() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("command");
    let bench = root.join("bench");
    for directory in ["programs", "kinds", "peers", "support"] {
        std::fs::create_dir_all(bench.join(directory)).unwrap();
    }
    let text = std::fs::read_to_string(sources().join("programs/Liar.java")).unwrap();
    // Declares a checksum the program does not come to.
    let text = format!("//: checksum = \"3\"\n{text}");
    std::fs::write(bench.join("programs/Liar.java"), text).unwrap();
    std::fs::copy(sources().join("peers/lie.toml"), bench.join("peers/lie.toml")).unwrap();
    let support = Path::new(env!("CARGO_MANIFEST_DIR")).join("../support/Bench.java");
    std::fs::copy(support, bench.join("support/Bench.java")).unwrap();
    let Output { status, stderr, .. } = Command::new(env!("CARGO_BIN_EXE_quipu-bench"))
        .args(["liar", "--peer", "lie", "--rounds", "1"])
        .current_dir(&root)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(1), "{errors}");
    assert!(
        errors.contains("liar plain")
            && errors.contains("WRONG OUTPUT: iteration 0 came to 1, which must be 3")
    );
}
