//! Roots of programs to which something happens: a signal, a full disk, threads that hardly live.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use quipu_e2e::{Command, Jdk, Program, Run, classes, on_every_jdk, scratch, tools};
use quipu_profile::Profile;

use super::{assert_whole, running};

#[test]
fn a_program_that_is_told_to_end_has_its_profile() {
    on_every_jdk(|jdk| {
        for flag in ["-Xmixed", "-Xrs"] {
            let file = scratch("signals").join("out.quipu");
            let mut quipu = Command::new("env");
            quipu.arg("--default-signal").arg(&tools().quipu);
            quipu.args(["run", "--root", "Rooted.round", "-o"]).arg(&file).arg("--");
            quipu.arg(jdk.home.join("bin/java")).arg(flag).arg("-cp").arg(classes(jdk)).arg("Rooted");
            quipu.current_dir(scratch("cwd"));
            quipu.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = quipu.spawn().expect("it starts");
            let mut line = String::new();
            let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
            out.read_line(&mut line).expect("it works");
            assert_eq!(line.trim(), "working");
            std::thread::sleep(std::time::Duration::from_millis(700));
            let pid = child.id().to_string();
            let sent = Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs");
            assert!(sent.success());
            let mut said = String::new();
            child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
            assert_eq!(child.wait().expect("it ends").code(), Some(128 + 15), "{said}");
            let profile = Profile::load(&file).unwrap_or_else(|e| panic!("{e}: {said}"));
            running::assert_whole(&profile, &[flag]);
            assert!(profile.meta.lost.is_empty(), "lost {:?}", profile.meta.lost);
            let total = |metric| profile.metric(metric).expect("times").total();
            assert!(total("time.raw") > 0 && total("time") <= total("time.raw"));
            let report = Command::new(&tools().quipu).arg("report").arg(&file).output().expect("it runs");
            let report = String::from_utf8_lossy(&report.stdout).into_owned();
            // On a machine that is busy it may be over before it is known how much.
            assert!(report.contains("measuring took "), "{report}");
            if report.contains("which is taken off") {
                assert!(
                    total("time") < total("time.raw") && report.contains(" ns a call within it"),
                    "{report}"
                );
            }
        }
    });
}

/// Runs a program with its arena on a file system of this size; what was said, and its profile, if it could begin.
fn run_on_disk_of(jdk: &Jdk, size: &str) -> Option<(String, Option<Profile>)> {
    let unshare = ["--mount", "--map-root-user", "sh", "-c"];
    let mount = "mount -t tmpfs -o mode=700,size";
    let works = Command::new("unshare").args(unshare).arg(format!("{mount}=1m none /mnt")).output();
    if !works.is_ok_and(|output| output.status.success()) {
        println!("skipped: unshare --mount does not work here");
        return None;
    }
    let directory = scratch("disk");
    let (small, file) = (directory.join("small"), directory.join("out.quipu"));
    std::fs::create_dir(&small).expect("a directory");
    let mut command = Command::new("unshare");
    command.args(unshare).arg(format!(
        "{mount}={size} none {0} && export XDG_RUNTIME_DIR={0} && exec \"$@\"",
        small.display()
    ));
    command.arg("sh").arg(&tools().quipu).args(["run", "--root", "main", "-o"]).arg(&file).arg("--");
    command.arg(jdk.home.join("bin/java")).arg("-cp").arg(classes(jdk)).args(["ManyContexts", "16"]);
    let output = command.current_dir(scratch("cwd")).output().expect("it runs");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(said.contains("65536"), "the program goes on: {said}");
    let profile = file.exists().then(|| Profile::load(&file).unwrap_or_else(|e| panic!("{e}: {said}")));
    Some((said, profile))
}

#[test]
fn a_full_disk_costs_contexts_and_not_the_program() {
    /// `ManyContexts` calls each method once in each.
    const CONTEXTS: u64 = (1 << 17) - 1;
    on_every_jdk(|jdk| {
        let run = |size| run_on_disk_of(jdk, size);
        let calls = |profile: &Profile| {
            ["left", "right"]
                .map(|name| running::calls(profile, &format!("ManyContexts.{name}")))
                .iter()
                .sum::<u64>()
        };
        let Some((said, whole)) = run("64m") else { return };
        let whole = whole.expect("a profile");
        assert!(
            whole.meta.lost.is_empty() && calls(&whole) == CONTEXTS,
            "lost {:?}; {said}",
            whole.meta.lost
        );
        let Some((said, none)) = run("1m") else { return };
        assert!(none.is_none() && said.contains("no room for the arena's first pages"), "{said}");
        let Some((said, some)) = run("6m") else { return };
        let some = some.expect("a profile");
        let refused = some.meta.lost.get("contexts.refused").copied().unwrap_or(0);
        // What the JDK calls is refused, too.
        assert!(
            calls(&some) < CONTEXTS && calls(&some) + refused >= CONTEXTS,
            "{} and {refused}",
            calls(&some)
        );
        assert!(said.contains("not in it"), "{said}");
        let others = some.meta.lost.keys().filter(|what| what.starts_with("arena.damaged"));
        assert_eq!(others.count(), 0, "lost {:?}", some.meta.lost);
    });
}

fn calls_of(run: &Run, name: &str) -> u64 {
    running::calls(run.profile(), name)
}

#[test]
fn hundreds_of_threads_that_hardly_live() {
    let program = Program::new("Brief").arguments(["1000"]);
    program.quipu(["--root", "Brief.call"]).on_every_jdk(|run| {
        assert_whole(run);
        assert_eq!(
            (calls_of(run, "Brief.call"), calls_of(run, "Brief.step")),
            (1000, 3000),
            "{}",
            run.said()
        );
    });
}

#[test]
fn hundreds_of_virtual_threads_that_hardly_live() {
    let program = Program::new("BriefVirtually").arguments(["5000"]);
    program.quipu(["--root", "Brief.call"]).on_every_jdk(|run| {
        assert_whole(run);
        assert_eq!(
            (calls_of(run, "Brief.call"), calls_of(run, "Brief.step")),
            (5000, 15_000),
            "{}",
            run.said()
        );
    });
}
