//! A profiler that comes late: it attaches to a program that has run for a while, and leaves it before it ends.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// What `quipu attach` says when it measures.
const MEASURES: &str = "quipu: profiling ";

/// What attaches, and when.
#[derive(Clone, Debug)]
pub struct Late {
    /// How long the program runs alone, at least: until the iteration then ends.
    pub after: Duration,
    /// The command, up to the process id.
    pub command: Vec<OsString>,
    /// What follows.
    pub options: Vec<OsString>,
}

/// A profiler that has attached.
pub struct Attached {
    child: Child,
    /// Kept, so that there is somebody to tell.
    _said: BufReader<ChildStderr>,
}

impl Late {
    /// Attaches to a process, and waits until it is measured. Belongs to a group of processes, to be stopped with it.
    pub fn attach(&self, pid: i32, group: u32) -> anyhow::Result<Attached> {
        let (program, first) = self.command.split_first().context("no command to attach with")?;
        let mut command = Command::new(program);
        command.args(first).arg(pid.to_string()).args(&self.options);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command.process_group(i32::try_from(group)?);
        let mut child = command.spawn().with_context(|| format!("cannot start {program:?}"))?;
        let mut said = BufReader::new(child.stderr.take().context("no output to read")?);
        let mut text = String::new();
        while !text.contains(MEASURES) {
            if said.read_line(&mut text)? == 0 {
                bail!("{:?} attached in vain; it printed:\n{text}", child.wait()?);
            }
        }
        Ok(Attached { child, _said: said })
    }
}

impl Attached {
    /// Has it leave the program and write its profile.
    pub fn leave(mut self) -> anyhow::Result<()> {
        kill(Pid::from_raw(i32::try_from(self.child.id())?), Signal::SIGINT)?;
        let status = self.child.wait()?;
        if !status.success() {
            bail!("the attached profiler ended with {status}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::time::Duration;

    use nix::unistd::getpgrp;

    use super::Late;

    fn late(script: &str) -> Late {
        let command = ["sh", "-c", script].map(OsString::from).to_vec();
        Late { after: Duration::ZERO, command, options: Vec::new() }
    }

    #[test]
    fn it_is_waited_for_until_it_measures_and_until_it_has_left() {
        let group = u32::try_from(getpgrp().as_raw()).unwrap();
        let there =
            "trap 'echo left >&2; exit 0' INT; echo 'quipu: profiling 1' >&2; while :; do sleep 0.01; done";
        late(there).attach(1, group).unwrap().leave().unwrap();
        let fails = "trap 'exit 3' INT; echo 'quipu: profiling 1' >&2; while :; do sleep 0.01; done";
        let why = late(fails).attach(1, group).unwrap().leave().unwrap_err().to_string();
        assert!(why.contains("exit status: 3"), "{why}");
        let why = late("echo no such process >&2; exit 3").attach(1, group).err().unwrap().to_string();
        assert!(why.contains("no such process"), "{why}");
    }
}
