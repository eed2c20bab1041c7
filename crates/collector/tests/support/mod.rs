//! Real JVMs to look at: started by a test, ended with it, by their own id. Each has a time in which it must end.

#[path = "../../../jvm/gen/jdks.rs"]
pub mod jdks;

use jdks::Jdk;
use quipu_e2e::{Child, Command};
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tempfile::TempDir;

const IDLE: &str = "public class Idle {
    public static void main(String[] args) throws Exception {
        System.out.println(\"ready\");
        while (true) Thread.sleep(1000);
    }
}";

/// An agent that does what its options say: `return=N`, `sleep`, or nothing.
const AGENT: &str = "#include <jni.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n\
    JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *options, void *reserved) {\n\
    if (options && strcmp(options, \"sleep\") == 0) sleep(2);\n\
    return options && strncmp(options, \"return=\", 7) == 0 ? atoi(options + 7) : 0;\n}\n";

/// Every JDK, each with the program compiled, or a word on why there is nothing to test.
pub fn each_jdk(test: impl Fn(&Jdk, &Program)) {
    let jdks = jdks::find();
    if jdks.is_empty() {
        println!("skipped: no JDK found");
    }
    for jdk in jdks {
        println!("JDK {} in {}", jdk.feature, jdk.home.display());
        test(&jdk, &Program::compile(&jdk, &std::env::temp_dir()));
    }
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A compiled `Idle`, in a folder everyone can read.
pub struct Program {
    pub folder: TempDir,
    java: PathBuf,
    include: PathBuf,
}

impl Program {
    pub fn compile(jdk: &Jdk, place: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("quipu-test-").tempdir_in(place).unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let source = folder.path().join("Idle.java");
        fs::write(&source, IDLE).unwrap();
        let mut javac = Command::new(jdk.home.join("bin/javac"));
        let compiled = javac.arg("-d").arg(folder.path()).arg(&source).status().unwrap();
        assert!(compiled.success());
        Self { java: jdk.home.join("bin/java"), include: jdk.include(), folder }
    }

    pub fn agent(&self) -> PathBuf {
        let (source, library) = (self.folder.path().join("agent.c"), self.folder.path().join("libagent.so"));
        fs::write(&source, AGENT).unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-I"]).arg(&self.include).arg("-I").arg(self.include.join("linux"));
        assert!(cc.arg("-o").arg(&library).arg(&source).status().unwrap().success());
        library
    }

    /// The command that runs it, for a test that puts something in front.
    pub fn command_line(&self, options: &[&str]) -> Vec<String> {
        let mut line = vec![self.java.display().to_string(), "-Xmx32m".into()];
        line.extend(options.iter().map(|option| (*option).to_owned()));
        line.extend([
            "-cp".into(),
            self.folder.path().display().to_string(),
            "Idle".into(),
            "one two".into(),
        ]);
        line
    }

    pub fn start(&self, options: &[&str]) -> Running {
        Running::start(&self.command_line(options)).ready()
    }
}

/// A process that ends with the test.
pub struct Running {
    pub child: Child,
    pub output: BufReader<std::process::ChildStdout>,
}

impl Running {
    pub fn start(line: &[String]) -> Self {
        let mut command = Command::new(&line[0]);
        let mut child = command.args(&line[1..]).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Waits until `main` runs.
    pub fn ready(mut self) -> Self {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        self
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.pid() as i32).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Stops the process, and waits until it has stopped: a signal is only a request.
    pub fn stop(&self) {
        self.signal(rustix::process::Signal::STOP);
        let status = format!("/proc/{}/status", self.pid());
        while !std::fs::read_to_string(&status).unwrap().contains("State:\tT") {
            std::thread::yield_now();
        }
    }

    /// Ends the process and returns all it has printed.
    pub fn end(mut self) -> String {
        self.child.kill().unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut self.output, &mut text).unwrap();
        text
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// No attempt, however it ended, may leave this file.
pub fn assert_nothing_left(pid: u32) {
    let name = format!(".attach_pid{pid}");
    for folder in [std::env::temp_dir(), std::env::current_dir().unwrap()] {
        assert!(!folder.join(&name).exists(), "{name} left in {}", folder.display());
    }
}
