//! Samples of a program that runs already.

use quipu_e2e::{Command, Shares, Working, on_every_jdk, percent, scratch, tools};
use quipu_profile::Profile;

/// It has noticed nothing.
pub fn finish(working: Working) {
    let err = working.finish();
    assert!(!err.contains("quipu: "), "{err}");
}

#[test]
fn threads_and_methods_that_were_there_before_have_names() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let mut last = None;
        // Twice: the second profile has nothing of the first.
        for _ in 0..2 {
            let file = scratch("attached").join("out.quipu");
            let mut quipu = Command::new(&tools().quipu);
            quipu.args(["attach", &working.id(), "--cpu", "1000", "-d", "1", "-o"]).arg(&file);
            let output = quipu.output().expect("it runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let profile = Profile::load(&file).expect("a profile");
            let cpu = Shares::of(&profile, "cpu");
            assert!(percent(cpu.thread("main"), cpu.sum()) > 50.0, "{:?}", cpu);
            assert!(percent(cpu.total("Working", "main"), cpu.thread("main")) > 90.0);
            let seconds = cpu.sum() as f64 / 1e9;
            assert!((0.1..4.0).contains(&seconds), "{seconds} s of CPU in one second");
            last = Some(profile.samples().len());
        }
        assert!(last > Some(0));
        finish(working);
    });
}

/// What `perf` reads: where code lies, in hexadecimal, and whose it is.
#[test]
fn compiled_code_is_named_for_perf() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let mut quipu = Command::new(&tools().quipu);
        let output = quipu.args(["perf-map", &working.id()]).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        let map = std::path::PathBuf::from(format!("/tmp/perf-{}.map", working.id()));
        if jdk.feature < 17 {
            assert_eq!(output.status.code(), Some(3), "{said}");
            assert!(said.contains("needs Java 17") && !map.exists(), "{said}");
        } else {
            assert!(output.status.success() && said.contains("pieces of compiled code"), "{said}");
            let text = std::fs::read_to_string(&map).expect("a map");
            std::fs::remove_file(&map).expect("ours");
            for line in text.lines() {
                let words: Vec<&str> = line.splitn(3, ' ').collect();
                let numbers = words[..2].iter().map(|word| word.trim_start_matches("0x"));
                assert!(numbers.into_iter().all(|n| u64::from_str_radix(n, 16).is_ok()), "{line}");
            }
            assert!(text.contains("Working.work"), "{} lines", text.lines().count());
        }
        finish(working);
    });
}

#[test]
fn files_are_written_one_after_the_other() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let directory = scratch("loop");
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(["attach", &working.id(), "--cpu", "1000", "-d", "1.5", "--loop", "0.5", "-o"]);
        let output = quipu.arg(directory.join("out.quipu")).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut shares = Vec::new();
        for i in 1..=3 {
            let profile = Profile::load(directory.join(format!("out-000{i}.quipu"))).expect("a profile");
            shares.push(Shares::of(&profile, "cpu").total("Working", "main"));
        }
        // Each has its own part: none has what all of them have.
        let sum: u64 = shares.iter().sum();
        assert!(shares.iter().all(|&share| percent(share, sum) > 5.0), "{shares:?}");
        finish(working);
    });
}

#[test]
fn hot_methods_are_shown_live() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(["top", &working.id(), "--every", "0.5", "--rounds", "2", "--rate", "1000"]);
        let output = quipu.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(said.matches("METHOD").count(), 2, "{said}");
        assert!(said.contains("  main\n") && said.contains("Working."), "{said}");
        // What it allocates, and how often that is collected, is known.
        let heap: Vec<&str> = said.lines().filter(|line| line.starts_with("allocated: ")).collect();
        assert_eq!(heap.len(), 2, "{said}");
        assert!(heap.iter().all(|line| line.contains(" MB/s") && line.contains(" % of the time")), "{said}");
        finish(working);
    });
}
