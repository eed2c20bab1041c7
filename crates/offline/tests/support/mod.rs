//! Runs of `quipu instrument`, and of what it makes.
#![allow(dead_code, reason = "each test needs a part of it")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use quipu_e2e::{Command, Jdk, scratch, tools};
use quipu_profile::Profile;

/// What the verifier must accept: every class, whoever loads it.
const VERIFY: [&str; 3] =
    ["-XX:+UnlockDiagnosticVMOptions", "-XX:+BytecodeVerificationRemote", "-XX:+BytecodeVerificationLocal"];

/// A jar or directory, instrumented, with its runtime.
pub struct Counted {
    pub path: PathBuf,
    pub runtime: PathBuf,
    /// What was said about it.
    pub said: String,
}

/// What came of a run.
pub struct Run {
    pub output: Output,
    pub arena: PathBuf,
}

/// Instruments with the JDK's opaque methods known, unless the options say otherwise.
pub fn instrument(jdk: &Jdk, input: &Path, options: &[&str]) -> Counted {
    let here = scratch("instrumented");
    let path = here.join(input.file_name().expect("a name"));
    let known = ["--jdk", jdk.home.to_str().expect("text")];
    let known = if options.contains(&"--jdk") { &[] } else { &known[..] };
    let output = try_instrument(input, &path, &[known, options].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(output.stdout.is_empty());
    Counted { path, runtime: here.join("quipu-runtime.jar"), said }
}

pub fn try_instrument(input: &Path, output: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(&tools().quipu);
    command.arg("instrument").arg(input).arg("-o").arg(output).args(options);
    command.output().expect("quipu runs")
}

impl Counted {
    pub fn class_path(&self) -> String {
        format!("{}:{}", self.path.display(), self.runtime.display())
    }

    /// Runs a class of it.
    pub fn run<S: AsRef<OsStr>>(&self, jdk: &Jdk, flags: &[&str], main: &str, arguments: &[S]) -> Run {
        run(jdk, &self.class_path(), flags, main, arguments)
    }
}

/// Runs a class; the profile goes to a file of its own.
pub fn run<S: AsRef<OsStr>>(jdk: &Jdk, class_path: &str, flags: &[&str], main: &str, arguments: &[S]) -> Run {
    let here = scratch("run");
    let arena = here.join("out.arena");
    let mut command = java(jdk, class_path);
    command.arg(format!("-Dquipu.output={}", arena.display())).args(flags).arg(main).args(arguments);
    Run { output: command.current_dir(here).output().expect("java runs"), arena }
}

/// A `java` that verifies everything, with a class path.
pub fn java(jdk: &Jdk, class_path: &str) -> Command {
    let mut command = Command::new(jdk.home.join("bin/java"));
    command.args(VERIFY).arg("-cp").arg(class_path);
    command.env_remove("JAVA_TOOL_OPTIONS").env_remove("JDK_JAVA_OPTIONS");
    command
}

impl Run {
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    pub fn profile(&self) -> Profile {
        profile(&self.arena)
    }

    /// Checks that it ended well and said nothing of itself.
    pub fn assert_quiet(&self) -> &Run {
        assert!(self.output.status.success(), "{}", self.stderr());
        assert_eq!(self.stderr(), "");
        self
    }
}

/// The profile in an arena, as `quipu merge` has it.
pub fn profile(arena: &Path) -> Profile {
    let file = scratch("profile").join("out.quipu");
    let mut merge = Command::new(&tools().quipu);
    let output = merge.arg("merge").arg(arena).arg("-o").arg(&file).output().expect("quipu runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Profile::load(&file).expect("a profile")
}

/// Compiles sources of `tests/java` into a new directory.
pub fn compile(jdk: &Jdk, options: &[&str], sources: &[&str]) -> PathBuf {
    let classes = scratch("classes");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java");
    let mut javac = Command::new(jdk.home.join("bin/javac"));
    javac.args(["-g", "-nowarn", "-Xlint:-options"]).args(options).arg("-d").arg(&classes);
    tool(javac.args(sources.iter().map(|source| folder.join(source))));
    classes
}

/// Packs with the JDK's `jar`, in a directory.
pub fn jar(jdk: &Jdk, directory: &Path, arguments: &[&str]) {
    tool(Command::new(jdk.home.join("bin/jar")).args(arguments).current_dir(directory));
}

pub fn tool(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    let said = [&output.stdout[..], &output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "{command:?}:\n{said}");
    said
}

/// A jar's entries, unpacked by the JDK: name and contents, in order.
pub fn entries(jdk: &Jdk, jar: &Path) -> Vec<(String, Vec<u8>)> {
    let folder = scratch("unpacked");
    self::jar(jdk, &folder, &["xf", jar.to_str().expect("text")]);
    let listed = tool(Command::new(jdk.home.join("bin/jar")).arg("tf").arg(jar));
    let files = listed.lines().filter(|name| !name.ends_with('/'));
    files.map(|name| (name.to_owned(), fs::read(folder.join(name)).expect("unpacked"))).collect()
}
