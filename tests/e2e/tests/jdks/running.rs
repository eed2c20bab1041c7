//! Programs that run already, agents in Java, and programs without an agent.

use std::fs;
use std::path::{Path, PathBuf};

use quipu_e2e::{Command, Jdk, Program, Shares, ThreadCounts, Working, classes, percent, scratch, tools};
use quipu_profile::Profile;

use crate::Row;

pub fn rows() -> Vec<Row> {
    vec![
        Row::new("`attach` to a running JVM, leave it as it was, attach again", 8, attach),
        Row::new("kinds switched on and off at run time (`ctl`)", 8, control),
        Row::new("profiling agents in plain Java (`--agent`)", 8, agent),
        Row::new("without an agent (`instrument`)", 8, offline),
    ]
}

/// Runs `quipu`, which must go well.
fn quipu(arguments: &[&str]) -> String {
    succeed(Command::new(&tools().quipu).args(arguments))
}

fn succeed(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    said
}

fn attach(jdk: &Jdk) {
    let working = Working::start(jdk);
    let file = scratch("attached").join("out.quipu");
    let name = file.to_str().expect("text");
    for kinds in [["--cpu", "1000"], ["--exact", "--wall=100"], ["--cpu", "1000"]] {
        quipu(&[&["attach", &working.id()][..], &kinds, &["-d", "0.5", "-o", name]].concat());
        let profile = Profile::load(&file).expect("a profile");
        match kinds[0] {
            "--cpu" => {
                let cpu = Shares::of(&profile, "cpu");
                assert!(percent(cpu.total("Working", "main"), cpu.thread("main")) > 90.0, "{cpu:?}");
                assert!(profile.metric("calls").is_none(), "nothing is counted any more");
            }
            _ => assert!(
                ThreadCounts::of(&profile, |name| name == "main").method("Working", "round").calls > 0
            ),
        }
    }
    let err = working.finish();
    assert!(!err.contains("quipu: "), "{err}");
}

fn control(jdk: &Jdk) {
    let working = Working::start(jdk);
    let ctl = |words: &[&str]| quipu(&[&["ctl", &working.id()][..], words].concat());
    ctl(&["start", "cpu=500"]);
    ctl(&["start", "exact"]);
    std::thread::sleep(std::time::Duration::from_millis(200));
    ctl(&["stop", "exact"]);
    let file = scratch("control").join("out.quipu");
    ctl(&["dump", "-o", file.to_str().expect("text")]);
    ctl(&["stop"]);
    let profile = Profile::load(&file).expect("a profile");
    assert!(profile.metric("calls").is_some_and(|calls| calls.total() > 0));
    assert!(profile.metric("cpu").is_some_and(|cpu| cpu.total() > 0));
    working.finish();
}

fn agent(jdk: &Jdk) {
    let here = scratch("agent");
    let (api, classes, jar) = (here.join("api.jar"), here.join("classes"), here.join("agents.jar"));
    fs::create_dir(&classes).expect("a directory");
    quipu(&["agent-api", "-o", api.to_str().expect("text")]);
    let examples =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../java/examples/quipu/examples/TopMethods.java");
    let mut javac = Command::new(jdk.home.join("bin/javac"));
    succeed(javac.arg("-cp").arg(&api).arg("-d").arg(&classes).arg(examples));
    succeed(Command::new(jdk.home.join("bin/jar")).arg("cf").arg(&jar).arg("-C").arg(&classes).arg("."));
    let agent = format!("{}=quipu.examples.TopMethods", jar.display());
    let program = Program::new("ManyThreads").arguments(["2", "10", "20000"]);
    let program = program.jvm(["-Dtop.bytecodes=100000", "-Dtop.methods=2"]).quipu(["--agent", &agent]);
    let run = program.run(jdk);
    assert!(run.assert_whole().stderr.contains("top: worker-1\n"), "{}", run.said());
}

fn offline(jdk: &Jdk) {
    let (said, arena) = instrumented(jdk, &["Foo"], &[]);
    assert_eq!(said.trim(), "1002000");
    let report = quipu(&["report", arena.to_str().expect("text"), "--by", "method", "--json"]);
    assert!(report.contains("10007"), "{report}");
    // Stacks that run out in many threads leave nothing locked.
    let (said, _) = instrumented(jdk, &["Overflows", "Overflows$1"], &["40", "1"]);
    assert!(said.contains("40 overflows"), "{said}");
}

/// Runs the first of some classes after all of them were instrumented; what it said, and where it counted.
fn instrumented(jdk: &Jdk, names: &[&str], arguments: &[&str]) -> (String, PathBuf) {
    let here = scratch("offline");
    let (input, counted, arena) = (here.join("in"), here.join("counted"), here.join("out.arena"));
    fs::create_dir(&input).expect("a directory");
    for name in names {
        let class = format!("{name}.class");
        fs::copy(classes(jdk).join(&class), input.join(&class)).expect("a class");
    }
    let home = jdk.home.to_str().expect("text");
    let [from, to] = [&input, &counted].map(|path| path.to_str().expect("text"));
    quipu(&["instrument", from, "-o", to, "--jdk", home]);
    let mut java = Command::new(jdk.home.join("bin/java"));
    java.arg(format!("-Dquipu.output={}", arena.display())).arg("-cp");
    java.arg(format!("{to}:{}", here.join("quipu-runtime.jar").display())).arg(names[0]).args(arguments);
    (succeed(&mut java), arena)
}
