//! A declared run of a Java program under the profiler.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::{ExitStatus, Output, Stdio};
use std::thread;

use quipu_profile::Profile;

use crate::child::Command;
use crate::jdks;
use crate::tools::{scratch, tools};
use crate::{Jdk, ThreadCounts, classes, sources};

/// A program, and how it is run.
#[derive(Debug, Clone, Default)]
pub struct Program {
    main: String,
    arguments: Vec<OsString>,
    quipu: Vec<String>,
    jvm: Vec<String>,
    libraries: Vec<PathBuf>,
    input: Option<Vec<u8>>,
    variables: Vec<(String, String)>,
    directory: Option<PathBuf>,
    since: u32,
    checked: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Run {
    /// The JDK it ran on.
    pub jdk: Jdk,
    /// What `quipu run` ended with.
    pub status: ExitStatus,
    /// The program's output.
    pub stdout: String,
    /// What was said on stderr.
    pub stderr: String,
    profile: Result<Profile, String>,
}

/// Runs a test on every JDK, which it is told of before. That are those of the machine; `QUIPU_FULL` adds those of
/// `scripts/jdks`.
pub fn on_every_jdk(test: impl Fn(&Jdk)) {
    let full = std::env::var_os("QUIPU_FULL").is_some();
    on_each(&if full { jdks::find_all() } else { jdks::find() }, test);
}

/// The same on two of them at a time: for tests that wait more than they compute.
pub fn on_every_jdk_at_once(test: impl Fn(&Jdk) + Sync) {
    let full = std::env::var_os("QUIPU_FULL").is_some();
    let all = if full { jdks::find_all() } else { jdks::find() };
    for two in all.chunks(2) {
        std::thread::scope(|scope| {
            for jdk in two {
                scope.spawn(|| on_each(std::slice::from_ref(jdk), &test));
            }
        });
    }
}

/// The same on those from a release on: for what older ones have not.
pub fn on_every_jdk_since(feature: u32, test: impl Fn(&Jdk)) {
    on_every_jdk(|jdk| {
        if jdk.feature >= feature {
            test(jdk);
        }
    });
}

/// Runs a test on the JDKs of the machine and those of `scripts/jdks`, always: for what differs between them.
pub fn on_all_jdks(test: impl Fn(&Jdk)) {
    on_each(&jdks::find_all(), test);
}

/// Whether a JDK knows a flag of those that tests use.
pub fn knows_flag(jdk: &Jdk, flag: &str) -> bool {
    match flag {
        // Before, it had to be unlocked.
        "-XX:+UseZGC" => jdk.feature >= 15,
        _ => true,
    }
}

fn on_each(jdks: &[Jdk], test: impl Fn(&Jdk)) {
    assert!(!jdks.is_empty(), "a JDK to test with");
    for jdk in jdks {
        println!("JDK {} in {}", jdk.feature, jdk.home.display());
        test(jdk);
    }
}

impl Program {
    /// The program with this main class.
    pub fn new(main: &str) -> Program {
        Program { main: main.to_owned(), ..Program::default() }
    }

    /// Arguments of the program.
    pub fn arguments<S: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Options of `quipu run`.
    pub fn quipu<const N: usize>(mut self, options: [&str; N]) -> Self {
        self.quipu.extend(options.map(str::to_owned));
        self
    }

    /// The same, of a list.
    pub fn quipu_all(mut self, options: &[&str]) -> Self {
        self.quipu.extend(options.iter().map(|&option| option.to_owned()));
        self
    }

    /// Flags of the JVM.
    pub fn jvm<const N: usize>(mut self, flags: [&str; N]) -> Self {
        self.jvm.extend(flags.map(str::to_owned));
        self
    }

    /// A jar the program needs.
    pub fn library(mut self, jar: PathBuf) -> Self {
        self.libraries.push(jar);
        self
    }

    /// What the program reads.
    pub fn input(mut self, bytes: &[u8]) -> Self {
        self.input = Some(bytes.to_vec());
        self
    }

    /// A variable of the environment of `quipu run`, and so of the JVM.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Where it runs; a new directory unless said otherwise. What a program does can depend on the name.
    pub fn directory(mut self, directory: PathBuf) -> Self {
        self.directory = Some(directory);
        self
    }

    /// The oldest JDK it runs on.
    pub fn since(mut self, feature: u32) -> Self {
        self.since = feature;
        self
    }

    /// By an agent with debug assertions.
    pub fn checked(mut self) -> Self {
        self.checked = true;
        self
    }

    /// Whether it can be compiled and run on a JDK, with its flags.
    pub fn runs_on(&self, jdk: &Jdk) -> bool {
        jdk.feature >= self.since.max(sources::since(&self.main))
            && self.jvm.iter().all(|flag| knows_flag(jdk, flag))
    }

    /// Runs it under the profiler on every JDK it runs on.
    pub fn on_every_jdk(&self, test: impl Fn(&Run)) {
        on_every_jdk(|jdk| {
            if self.runs_on(jdk) {
                test(&self.run(jdk));
            }
        });
    }

    /// Runs it under the profiler.
    pub fn run(&self, jdk: &Jdk) -> Run {
        let file = scratch("run").join("out.quipu");
        let tools = tools();
        let mut command = Command::new(if self.checked { &tools.checked } else { &tools.quipu });
        command.arg("run").args(&self.quipu).arg("-o").arg(&file).arg("--");
        self.append_java(&mut command, jdk);
        let output = self.wait(command);
        let profile = Profile::load(&file).map_err(|error| error.to_string());
        let _ = std::fs::remove_file(&file);
        Run {
            jdk: jdk.clone(),
            status: output.status,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            profile,
        }
    }

    /// Runs it alone, or with an agent of somebody else's.
    pub fn run_without_profiler(&self, jdk: &Jdk, more_flags: &[String]) -> Output {
        let mut command = Command::new("env");
        self.append_java_with(&mut command, jdk, more_flags);
        self.wait(command)
    }

    fn append_java(&self, command: &mut Command, jdk: &Jdk) {
        self.append_java_with(command, jdk, &[]);
    }

    fn append_java_with(&self, command: &mut Command, jdk: &Jdk, more_flags: &[String]) {
        let mut path = classes(jdk).into_os_string();
        for library in &self.libraries {
            path.push(":");
            path.push(library);
        }
        command.arg(jdk.home.join("bin/java"));
        // What `-Xverify:all` stood for, without the warning that it is deprecated.
        command.arg("-XX:+UnlockDiagnosticVMOptions");
        command.args(["-XX:+BytecodeVerificationRemote", "-XX:+BytecodeVerificationLocal"]);
        command.args(more_flags).args(&self.jvm).arg("-cp").arg(path).arg(&self.main).args(&self.arguments);
    }

    fn wait(&self, mut command: Command) -> Output {
        let directory = self.directory.clone().unwrap_or_else(|| scratch("cwd"));
        // Not where crash files would be mistaken for sources.
        command.current_dir(directory).env_remove("JAVA_TOOL_OPTIONS").env_remove("JDK_JAVA_OPTIONS");
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = self.input.clone().unwrap_or_default();
        let writer = thread::spawn(move || {
            // A program need not read what it is given.
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().expect("the command ends");
        writer.join().expect("input was written");
        output
    }
}

impl Run {
    /// The profile; the test fails if there is none.
    pub fn profile(&self) -> &Profile {
        match &self.profile {
            Ok(profile) => profile,
            Err(error) => panic!("no profile: {error}; {}", self.said()),
        }
    }

    /// The thread with this name, or the threads that share this pattern.
    pub fn thread(&self, name: &str) -> ThreadCounts<'_> {
        let thread = ThreadCounts::of(self.profile(), |found| found == name);
        assert!(thread.trees() > 0, "no thread {name}; {}", self.said());
        thread
    }

    /// Checks that the program ended well and that nothing is missing from its profile.
    pub fn assert_whole(&self) -> &Self {
        assert!(self.status.success(), "{}", self.said());
        assert!(
            self.profile().meta.lost.is_empty(),
            "lost {:?}; {}",
            self.profile().meta.lost,
            self.left_alone()
        );
        self
    }

    /// Classes and methods that were left as they are, and why.
    pub fn left_alone(&self) -> String {
        let left = self.profile().run.extra.iter().filter(|(key, _)| key.starts_with("left alone"));
        left.map(|(key, why)| format!("{key}: {why}\n")).collect()
    }

    /// What it printed, for messages.
    pub fn said(&self) -> String {
        let Run { jdk, status, stdout, stderr, .. } = self;
        format!("JDK {}, {status}\nstdout:\n{stdout}\nstderr:\n{stderr}", jdk.feature)
    }
}
