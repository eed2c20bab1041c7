//! Directives for the compiler, made of call graphs: JVMs take them, and compile by them.

use std::path::{Path, PathBuf};

use quipu_e2e::{Command, Jdk, Program, Working, on_every_jdk_since, scratch, tools};
use quipu_profile::{Builder, Line, MethodSpec, MetricSpec, Profile, ThreadSpec, UNKNOWN_SITE};

/// HotSpot's first release with directives.
const SINCE: u32 = 9;

/// What a profile of the program says, as a file.
fn directives(program: &Program, jdk: &Jdk) -> PathBuf {
    let run = program.clone().quipu(["--calls", "exhaustive"]).run(jdk);
    assert!(run.status.success(), "{}", run.said());
    exported(run.profile())
}

/// What a profile says, as a file, whose name has a blank.
fn exported(profile: &Profile) -> PathBuf {
    let (saved, file) = (scratch("directives").join("x.quipu"), scratch("directives").join("hot calls.json"));
    profile.save(&saved).expect("a file");
    let mut quipu = Command::new(&tools().quipu);
    quipu.arg("export").arg(&saved).args(["--to", "directives", "-o"]).arg(&file);
    let output = quipu.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    file
}

/// The program compiled by the file says and does the same, and what is said of inlining.
fn compiled_by(file: &Path, program: &Program, jdk: &Jdk) -> String {
    let flags = [
        "-XX:+UnlockDiagnosticVMOptions".to_owned(),
        format!("-XX:CompilerDirectivesFile={}", file.display()),
    ];
    let said = |more: &[&str]| {
        let flags: Vec<String> =
            flags.iter().cloned().chain(more.iter().map(|flag| (*flag).to_owned())).collect();
        let output = program.run_without_profiler(jdk, &flags);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && output.stderr.is_empty(), "{said}\n{output:?}");
        said
    };
    let plain = said(&[]);
    let number = std::fs::read_to_string(file).expect("the file").matches("\"match\"").count();
    assert!(number > 3, "{number}");
    assert_eq!(plain, format!("{number} compiler directives added\nthe same in every round\n"));
    said(&["-XX:+PrintInlining", "-XX:-TieredCompilation"])
}

#[test]
fn what_is_called_often_is_inlined_because_they_say_so() {
    let program = Program::new("Dispatches").arguments(["1000", "1"]);
    on_every_jdk_since(SINCE, |jdk| {
        let said = compiled_by(&directives(&program, jdk), &program, jdk);
        let by_them = |line: &&str| line.contains("force inline by Compile");
        let inlined: Vec<&str> = said.lines().filter(by_them).collect();
        assert!(
            inlined.iter().any(|line| line.contains("Dispatches::apply")),
            "JDK {}: {inlined:?}",
            jdk.feature
        );
    });
}

/// Of many methods that could have a directive, as many as a JVM takes, and not one more: it would not start.
#[test]
fn a_jvm_starts_with_as_many_as_it_takes() {
    let mut builder = Builder::new();
    let calls = builder.metric(MetricSpec::calls());
    let thread = builder.thread(ThreadSpec { name: "main", ..ThreadSpec::default() });
    let root = builder.root(thread);
    let lines = [Line { bci: 0, line: 1 }, Line { bci: 20, line: 2 }];
    for name in (0..120).map(|i| format!("m{i}")) {
        let [caller, callee] = [&name, "callee"].map(|name| {
            let spec =
                MethodSpec { class: "a.B", name, descriptor: "()V", lines: &lines, ..MethodSpec::default() };
            builder.method(spec)
        });
        let caller = builder.child(root, caller, UNKNOWN_SITE);
        let callee = builder.child(caller, callee, 3);
        builder.add(callee, calls, 1_000);
    }
    let file = exported(&builder.finish());
    let flag = format!("-XX:CompilerDirectivesFile={}", file.display());
    on_every_jdk_since(SINCE, |jdk| {
        let flags = ["-XX:+UnlockDiagnosticVMOptions".to_owned(), flag.clone()];
        let output = Program::new("Foo").run_without_profiler(jdk, &flags);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.starts_with("49 compiler directives added\n"),
            "{said}\n{output:?}"
        );
    });
}

#[test]
fn a_jvm_that_runs_takes_them_and_gives_them_up_again() {
    let program = Program::new("Dispatches").arguments(["200", "1"]);
    on_every_jdk_since(SINCE, |jdk| {
        let file = directives(&program, jdk);
        let working = Working::start(jdk);
        let ctl = |words: &[&str]| {
            let mut quipu = Command::new(&tools().quipu);
            let output =
                quipu.args(["ctl", &working.id(), "directives"]).args(words).output().expect("it runs");
            let said = [output.stdout, output.stderr].concat();
            (output.status.code(), String::from_utf8_lossy(&said).into_owned())
        };
        let name = file.to_str().expect("a name");
        let (status, said) = ctl(&[name]);
        assert!(status == Some(0) && said.contains("compiler directives added"), "{said}");
        let (status, said) = ctl(&["--clear"]);
        assert!(status == Some(0), "{said}");
        // There is room for all of them again.
        assert_eq!(ctl(&[name]).0, Some(0));
        let (status, said) = ctl(&["nowhere.json"]);
        assert!(status == Some(2) && said.contains("cannot read nowhere.json"), "{said}");
        let broken = scratch("directives").join("broken.json");
        std::fs::write(&broken, "[{ \"match\": }]").expect("a file");
        let (status, said) = ctl(&[broken.to_str().expect("a name")]);
        assert!(status == Some(3) && said.contains("did not take them"), "{said}");
        working.finish();
    });
}
