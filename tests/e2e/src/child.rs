//! Child processes that cannot hang a test: each has a time in which it must end. If it does not, the threads of its JVMs
//! are shown, it is killed with all that it started, and the test fails.
//!
//! `clippy.toml` keeps other ways to start a process out of these tests.
#![allow(clippy::disallowed_types, reason = "this is what the others are to use instead")]

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{self, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Seconds that a child process has, instead of those below.
const VARIABLE: &str = "QUIPU_E2E_TIMEOUT";
/// A file that has a line for each process that tests start, for `scripts/tests`.
const STARTS: &str = "QUIPU_E2E_STARTS";
/// Far more than any child needs, on a machine that does other things as well.
const PATIENCE: Duration = Duration::from_secs(300);
/// The same for the long tests.
const FULL_PATIENCE: Duration = Duration::from_secs(4 * 3600);
/// What a JVM has to show its threads; one that hangs does not answer at all.
const DUMP_PATIENCE: &str = "20";

/// [`std::process::Command`], with a time for what it starts.
#[derive(Debug)]
pub struct Command {
    command: process::Command,
    patience: Duration,
}

impl Command {
    /// A program, by name or path.
    pub fn new(program: impl AsRef<OsStr>) -> Command {
        Command { command: process::Command::new(program), patience: patience() }
    }

    /// Another time than the usual one, unless the environment says otherwise.
    pub fn patience(&mut self, time: Duration) -> &mut Command {
        if std::env::var_os(VARIABLE).is_none() {
            self.patience = time;
        }
        self
    }

    /// Adds an argument.
    pub fn arg(&mut self, argument: impl AsRef<OsStr>) -> &mut Command {
        self.command.arg(argument);
        self
    }

    /// Adds arguments.
    pub fn args(&mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> &mut Command {
        self.command.args(arguments);
        self
    }

    /// Sets a variable.
    pub fn env(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Command {
        self.command.env(name, value);
        self
    }

    /// Removes a variable.
    pub fn env_remove(&mut self, name: impl AsRef<OsStr>) -> &mut Command {
        self.command.env_remove(name);
        self
    }

    /// Where it runs.
    pub fn current_dir(&mut self, directory: impl AsRef<Path>) -> &mut Command {
        self.command.current_dir(directory);
        self
    }

    /// What it reads.
    pub fn stdin(&mut self, stdin: impl Into<Stdio>) -> &mut Command {
        self.command.stdin(stdin);
        self
    }

    /// Where its output goes.
    pub fn stdout(&mut self, stdout: impl Into<Stdio>) -> &mut Command {
        self.command.stdout(stdout);
        self
    }

    /// Where its errors go.
    pub fn stderr(&mut self, stderr: impl Into<Stdio>) -> &mut Command {
        self.command.stderr(stderr);
        self
    }

    /// Starts it.
    pub fn spawn(&mut self) -> io::Result<Child> {
        let child = self.command.spawn()?;
        note_start(&self.command);
        let watch = Watch::begin(child.id(), format!("{:?}", self.command), self.patience);
        Ok(Child { child: Some(child), watch })
    }

    /// Runs it to its end; it has nothing to read, and what it prints is returned.
    pub fn output(&mut self) -> io::Result<Output> {
        self.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?.wait_with_output()
    }

    /// Runs it to its end; what it prints is shown.
    pub fn status(&mut self) -> io::Result<ExitStatus> {
        self.spawn()?.wait()
    }
}

/// Notes that a program was started: its name, and what `quipu` was to do.
fn note_start(command: &process::Command) {
    let Some(path) = std::env::var_os(STARTS) else { return };
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy();
    let first = command.get_args().next().unwrap_or_default().to_string_lossy();
    let line = if program == "quipu" { format!("quipu {first}\n") } else { format!("{program}\n") };
    // One write is one line, whoever else writes. Without the file, nothing is counted.
    if let Ok(mut file) = fs::OpenOptions::new().append(true).open(path) {
        let _ = io::Write::write_all(&mut file, line.as_bytes());
    }
}

/// [`std::process::Child`] that is watched, and does not outlive a test that fails.
#[derive(Debug)]
pub struct Child {
    /// There until [`Child::wait_with_output`].
    child: Option<process::Child>,
    watch: Watch,
}

impl Child {
    /// Waits for its end. Fails the test if it did not end in time.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = process::Child::wait(self)?;
        self.watch.end();
        Ok(status)
    }

    /// Waits for its end, and returns what it printed.
    pub fn wait_with_output(mut self) -> io::Result<Output> {
        let output = self.child.take().expect("it is there").wait_with_output()?;
        self.watch.end();
        Ok(output)
    }
}

impl Deref for Child {
    type Target = process::Child;
    fn deref(&self) -> &process::Child {
        self.child.as_ref().expect("it is there")
    }
}

impl DerefMut for Child {
    fn deref_mut(&mut self) -> &mut process::Child {
        self.child.as_mut().expect("it is there")
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // Nothing to do for one that has ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A thread that waits for the time to pass.
#[derive(Debug)]
struct Watch {
    /// Closing it ends the thread.
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    expired: Arc<AtomicBool>,
    what: String,
}

impl Watch {
    fn begin(pid: u32, command: String, patience: Duration) -> Watch {
        let (over, ended) = channel::<()>();
        let expired = Arc::new(AtomicBool::new(false));
        let what =
            format!("{command} did not end within {patience:?} ({VARIABLE} sets another time, in seconds)");
        let (set, said) = (Arc::clone(&expired), what.clone());
        let thread = thread::spawn(move || {
            if ended.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                set.store(true, Ordering::Release);
                eprintln!("{said}\n{}", put_down(pid));
            }
        });
        Watch { over: Some(over), thread: Some(thread), expired, what }
    }

    /// It has ended; by itself, or the test fails.
    fn end(&mut self) {
        self.over.take();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("it watches");
        }
        assert!(!self.expired.load(Ordering::Acquire), "{}", self.what);
    }
}

fn patience() -> Duration {
    let seconds = std::env::var(VARIABLE).ok().map(|text| text.parse().expect("a number of seconds"));
    let usual = if std::env::var_os("QUIPU_FULL").is_some() { FULL_PATIENCE } else { PATIENCE };
    seconds.map_or(usual, Duration::from_secs)
}

/// Kills a process and all that came of it; what their threads were doing is returned.
fn put_down(pid: u32) -> String {
    let mut family = vec![pid];
    let mut next = 0;
    while let Some(&parent) = family.get(next) {
        family.extend(children(parent));
        next += 1;
    }
    let dumps: String = family.iter().map(|&pid| threads(pid)).collect();
    // Parents first: one that is told of a child's end would go on.
    for pid in family {
        let _ = process::Command::new("kill").arg("-KILL").arg(pid.to_string()).status();
    }
    dumps
}

fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// What the threads of a process are doing, in Java if there is a JVM that answers.
fn threads(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().replace('\0', " ");
    let mut said = format!("--- process {pid}: {name}\n");
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    for task in tasks {
        // The line has the name, the state (R is running), and the time used, among others.
        let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        said.push_str(&format!("    {}", stat.split_inclusive(' ').take(15).collect::<String>()));
        said.push('\n');
    }
    if let Some(jstack) = jstack_of(pid) {
        let mut dump = process::Command::new("timeout");
        dump.args(["-s", "KILL", DUMP_PATIENCE]).arg(jstack).args(["-l", &pid.to_string()]);
        match dump.output() {
            Ok(output) if output.status.success() => said.push_str(&String::from_utf8_lossy(&output.stdout)),
            _ => said.push_str("    the JVM does not answer: it waits for a safepoint, or is not up\n"),
        }
    }
    said
}

/// That of the JDK which runs in a process.
fn jstack_of(pid: u32) -> Option<PathBuf> {
    let program = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    (program.file_name()? == "java").then(|| program.with_file_name("jstack")).filter(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{classes, on_every_jdk};

    #[test]
    fn what_ends_in_time_is_left_alone() {
        let output = Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]).output().unwrap();
        assert_eq!(
            (output.status.code(), &*output.stdout, &*output.stderr),
            (Some(3), &b"out\n"[..], &b"err\n"[..])
        );
        assert_eq!(Command::new("false").status().unwrap().code(), Some(1));
    }

    #[test]
    #[should_panic(expected = "did not end within")]
    fn what_hangs_fails_the_test() {
        let _ =
            Command::new("sh").args(["-c", "sleep 1000; true"]).patience(Duration::from_millis(200)).output();
    }

    #[test]
    fn the_threads_of_a_jvm_below_a_shell_are_shown_and_it_is_killed() {
        on_every_jdk(|jdk| {
            let line =
                format!("{}/bin/java -cp {} Working; true", jdk.home.display(), classes(jdk).display());
            let mut shell = Command::new("sh");
            let mut shell =
                shell.args(["-c", &line]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let mut out = io::BufReader::new(shell.stdout.take().unwrap());
            io::BufRead::read_line(&mut out, &mut String::new()).unwrap();
            let said = put_down(shell.id());
            assert!(said.contains("\"main\"") && said.contains("Working.main"), "{said}");
            // Nobody is left who could write to it.
            assert_eq!(io::read_to_string(out).unwrap(), "");
            assert!(!shell.wait().unwrap().success());
        });
    }
}
