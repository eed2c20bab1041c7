//! The agent alone, as in an image: without the command, configured by the environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use quipu_e2e::{Command, Jdk, classes, on_all_jdks, on_every_jdk, scratch, tools};

/// The agent, as `quipu agent` writes it.
fn agent() -> PathBuf {
    let file = scratch("agent").join("libquipu_agent.so");
    let output = Command::new(&tools().quipu).args(["agent", "-o"]).arg(&file).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    file
}

/// A program with these options in its environment, in a directory.
fn run(jdk: &Jdk, directory: &Path, options: &str, program: &[&str]) -> Output {
    let mut java = Command::new(jdk.home.join("bin/java"));
    java.env("JAVA_TOOL_OPTIONS", format!("-agentpath:{}", agent().display())).env("QUIPU_OPTIONS", options);
    java.arg("-cp").arg(classes(jdk)).args(program).current_dir(directory).output().expect("it runs")
}

fn report(file: &Path) -> String {
    let mut report = Command::new(&tools().quipu);
    let output = report.arg("report").arg(file).args(["--by", "method", "--json"]).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn only_file(directory: &Path) -> PathBuf {
    let files: Vec<PathBuf> =
        fs::read_dir(directory).expect("files").flatten().map(|entry| entry.path()).collect();
    let arenas: Vec<&PathBuf> =
        files.iter().filter(|path| path.extension().is_some_and(|e| e == "arena")).collect();
    assert_eq!(arenas.len(), 1, "{files:?}");
    arenas[0].clone()
}

/// The host's name as the kernel tells it.
fn hostname() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").expect("a name").trim().to_owned()
}

#[test]
fn the_profile_goes_to_the_file_that_the_environment_names() {
    on_all_jdks(|jdk| {
        let directory = scratch("environment");
        let output = run(jdk, &directory, "exact,file=app-%p-%t-100%%@%h.arena", &["Foo"]);
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "1002000");
        let file = only_file(&directory);
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        let (of_run, host) = name.split_once('@').expect("a host");
        assert_eq!(host, format!("{}.arena", hostname()), "{name}");
        let parts: Vec<&str> = of_run.split('-').collect();
        assert_eq!((parts[0], parts.len(), parts[4]), ("app", 5, "100%"), "{name}");
        assert!(parts[1].parse::<u32>().is_ok() && parts[2].len() == 8 && parts[3].len() == 6, "{name}");
        assert!(report(&file).contains("10007"));
    });
}

#[test]
fn measuring_begins_after_the_delay() {
    on_every_jdk(|jdk| {
        let directory = scratch("delay");
        // Longer than the program takes: nothing is measured.
        let output = run(jdk, &directory, "exact,delay=3600,file=out.arena", &["Foo"]);
        assert!(output.status.success());
        let text = report(&directory.join("out.arena"));
        assert!(!text.contains("\"sum\""), "{text}");
        let output = run(jdk, &directory, "cpu=1000,delay=1,file=late.arena", &["Burning", "600"]);
        assert!(output.status.success());
        assert!(report(&directory.join("late.arena")).contains("\"spin\""));
    });
}

#[test]
fn what_cannot_be_done_is_said_and_the_program_runs() {
    on_every_jdk(|jdk| {
        let directory = scratch("wrong");
        fs::write(directory.join("there.arena"), "somebody's").expect("a file");
        let wrong = [
            ("nonsense=1", "unknown option 'nonsense'"),
            ("exact,file=there.arena", "cannot make there.arena"),
            ("exact,file=missing/out.arena", "cannot make missing/out.arena"),
        ];
        for (options, why) in wrong {
            let output = run(jdk, &directory, options, &["Foo"]);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "1002000", "{said}");
            assert!(said.contains("quipu: not profiling:") && said.contains(why), "{options}: {said}");
        }
        assert_eq!(fs::read_to_string(directory.join("there.arena")).expect("a file"), "somebody's");
    });
}
