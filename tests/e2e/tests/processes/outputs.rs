//! Results that cannot be written: known before the work begins, and not lost if it turns out later.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Output;

use quipu_e2e::{Command, Jdk, Program, ThreadCounts, Working, classes, on_every_jdk, scratch, tools};
use quipu_profile::Profile;

use crate::signals::{java, quipu, send, start};

/// Places where nobody can write, not even root.
fn impossible() -> Vec<PathBuf> {
    let directory = scratch("outputs");
    fs::write(directory.join("file"), "").expect("a file");
    vec![
        directory.join("missing/out.quipu"),
        directory.join("file/out.quipu"),
        directory.clone(),
        PathBuf::from("/proc/out.quipu"),
    ]
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn run_into(jdk: &Jdk, output: &Path) -> Output {
    let mut quipu = Command::new(&tools().quipu);
    quipu.arg("run").arg("-o").arg(output).arg("--").arg(jdk.home.join("bin/java"));
    quipu.arg("-cp").arg(classes(jdk)).arg("Foo").current_dir(scratch("cwd"));
    quipu.output().expect("it runs")
}

/// The arena that a message says the profile is kept in.
fn kept_in(said: &str) -> PathBuf {
    let command = said.split("quipu merge ").nth(1).unwrap_or_else(|| panic!("no command in: {said}"));
    PathBuf::from(command.split(" -o FILE").next().expect("a path"))
}

/// Does what the message says to do.
fn written_elsewhere(said: &str) -> Profile {
    let arena = kept_in(said);
    let file = scratch("elsewhere").join("out.quipu");
    let mut merge = Command::new(&tools().quipu);
    let merged = merge.arg("merge").arg(&arena).arg("-o").arg(&file).output().expect("it runs");
    assert!(merged.status.success(), "{}", self::said(&merged));
    fs::remove_file(&arena).expect("it was kept");
    Profile::load(file).expect("a profile")
}

#[test]
fn a_run_does_not_start_without_a_place_for_its_profile() {
    on_every_jdk(|jdk| {
        for place in impossible() {
            let output = run_into(jdk, &place);
            assert_eq!(output.status.code(), Some(2), "{}: {}", place.display(), said(&output));
            assert!(said(&output).contains("cannot be written"), "{}", said(&output));
            assert!(output.stdout.is_empty(), "{}: the target was started", place.display());
        }
    });
}

/// Neither file of a baseline is found out to be impossible after minutes of tests.
#[test]
fn tests_do_not_run_without_a_place_for_their_baseline() {
    let directory = scratch("baseline");
    fs::create_dir(directory.join("contexts.quipu")).expect("a directory");
    for place in impossible().into_iter().chain([directory.join("contexts.txt")]) {
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(["test", "--update", "--baseline"]).arg(&place).args(["--", "touch", "ran"]);
        let output = quipu.current_dir(&directory).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{}: {}", place.display(), said(&output));
        assert!(said(&output).contains("cannot be written"), "{}", said(&output));
        assert!(!directory.join("ran").exists(), "{}: the command was started", place.display());
    }
}

#[test]
fn an_attach_does_not_touch_the_target_without_a_place_for_its_profile() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        for place in impossible() {
            for command in [&["attach", &working.id(), "-d", "1"][..], &["ctl", &working.id(), "dump"]] {
                let mut quipu = Command::new(&tools().quipu);
                let output = quipu.args(command).arg("-o").arg(&place).output().expect("it runs");
                assert_eq!(output.status.code(), Some(2), "{}: {}", place.display(), said(&output));
                assert!(said(&output).contains("cannot be written"), "{}", said(&output));
            }
        }
        let maps = fs::read_to_string(format!("/proc/{}/maps", working.id())).expect("its mappings");
        assert!(!maps.contains("libquipu_agent"), "the agent was loaded");
        working.finish();
    });
}

#[test]
fn a_run_into_a_full_disk_keeps_what_was_counted() {
    on_every_jdk(|jdk| {
        let output = run_into(jdk, Path::new("/dev/full"));
        assert_eq!(output.status.code(), Some(3), "{}", said(&output));
        let profile = written_elsewhere(&said(&output));
        assert_eq!(ThreadCounts::of(&profile, |name| name == "main").method("Foo", "sum").calls, 1);
    });
}

/// What cannot be written in time is in the file behind it.
#[test]
fn a_part_that_cannot_be_written_is_in_the_next_one() {
    on_every_jdk(|jdk| {
        let directory = scratch("parts");
        let part = |i: u32| directory.join(format!("out-{i:04}.quipu"));
        // No file takes the place of a directory that is not empty.
        fs::create_dir_all(part(1).join("in the way")).expect("a directory");
        let mut quipu = quipu();
        quipu.args(["run", "--loop", "0.3", "-o"]).arg(directory.join("out.quipu")).arg("--").args(java(jdk));
        let (mut child, out) = start(&mut quipu);
        let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut said = String::new();
        while !said.contains("out-0001.quipu") {
            assert!(errors.read_line(&mut said).expect("text") > 0, "{said}");
        }
        fs::remove_dir_all(part(1)).expect("it is ours");
        send("TERM", child.id());
        errors.read_to_string(&mut said).expect("text");
        assert_eq!(child.wait().expect("it ends").code(), Some(128 + 15), "{said}");
        drop(out);
        let parts: Vec<_> = (1..).map(part).take_while(|file| file.exists()).collect();
        let profiles: Vec<_> = parts.iter().map(|file| Profile::load(file).expect("a profile")).collect();
        let mains = profiles.iter().map(|profile| {
            let main = ThreadCounts::of(profile, |name| name == "main").by_method();
            main.iter()
                .filter(|(name, _)| name.starts_with("Told.main"))
                .map(|(_, counts)| counts.calls)
                .sum::<u64>()
        });
        assert_eq!(mains.sum::<u64>(), 1, "{} parts; {said}", parts.len());
    });
}

/// One that cannot be read is no reason to lose the others.
#[test]
fn arenas_that_cannot_be_read_are_kept() {
    on_every_jdk(|jdk| {
        let damage = r#"d=${JAVA_TOOL_OPTIONS##*dir=}; echo nonsense > "${d%%[, ]*}/1-0.arena""#;
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(["run", "-o"]).arg(scratch("damaged").join("out.quipu")).args(["--", "sh", "-c"]);
        quipu.arg(format!(
            "{} -cp {} Foo; {damage}",
            jdk.home.join("bin/java").display(),
            classes(jdk).display()
        ));
        let output = quipu.current_dir(scratch("cwd")).output().expect("it runs");
        let said = said(&output);
        assert!(!output.status.success() && said.contains("is kept"), "{said}");
        let mut kept = said.split_whitespace().filter(|word| word.ends_with(".arena")).map(PathBuf::from);
        let good = kept.rfind(|path| path.file_name().is_some_and(|name| name != "1-0.arena"));
        let good = good.unwrap_or_else(|| panic!("no place in: {said}"));
        let profile = written_elsewhere(&format!("quipu merge {} -o FILE", good.display()));
        assert_eq!(ThreadCounts::of(&profile, |name| name == "main").method("Foo", "sum").calls, 1);
        fs::remove_dir_all(good.parent().expect("its directory")).expect("it was kept");
    });
}

/// With tallies as well, which lie far behind the rest of an arena.
#[test]
fn an_attach_into_a_full_disk_keeps_what_was_counted() {
    on_every_jdk(|jdk| {
        for contexts in ["all", "app"] {
            let working = Working::start(jdk);
            let mut quipu = Command::new(&tools().quipu);
            quipu.args([
                "attach",
                &working.id(),
                "--exact",
                "--contexts",
                contexts,
                "-d",
                "1",
                "-o",
                "/dev/full",
            ]);
            let output = quipu.output().expect("it runs");
            assert_eq!(output.status.code(), Some(3), "{}", said(&output));
            let profile = written_elsewhere(&said(&output));
            let main = ThreadCounts::of(&profile, |name| name == "main");
            assert!(main.method("Working", "work").calls > 0, "{contexts}");
            assert!(profile.meta.lost.is_empty(), "{contexts}: {:?}", profile.meta.lost);
            working.finish();
        }
    });
}

#[test]
fn an_export_that_fails_leaves_what_was_there() {
    on_every_jdk(|jdk| {
        let run = Program::new("Foo").run(jdk);
        let directory = scratch("export");
        let file = directory.join("in.quipu");
        run.profile().save(&file).expect("it is written");
        let page = directory.join("out.collapsed");
        fs::write(&page, "old").expect("it is written");
        let export = |metric: &str, to: &Path| {
            let mut quipu = Command::new(&tools().quipu);
            quipu.arg("export").arg(&file).args(["--to", "collapsed", "--metric", metric, "-o"]).arg(to);
            quipu.output().expect("it runs")
        };
        // It is found out only while the file is being written.
        assert_eq!(export("nonsense", &page).status.code(), Some(2));
        assert_eq!(fs::read_to_string(&page).expect("text"), "old");
        assert_eq!(fs::read_dir(&directory).expect("it is there").count(), 2, "nothing is left over");
        assert_eq!(export("calls", Path::new("/dev/full")).status.code(), Some(3));
        for place in impossible() {
            assert_eq!(export("calls", &place).status.code(), Some(2), "{}", place.display());
        }
        assert!(export("calls", &page).status.success());
        assert!(fs::read_to_string(&page).expect("text").contains("Foo.sum"));
    });
}
