//! The JVMs of this machine, for `quipu ps`.
//!
//! A JVM is a process that has a VM's library mapped; what it runs and what it is comes from its performance data, or,
//! where it keeps none (`-XX:-UsePerfData`) or we may not read it, from its command line and its JDK's `release` file.
//! Where we may not even see what a process has mapped, a file named after it in `/tmp/hsperfdata_*` gives it away.

mod command;
mod perf_data;

pub(crate) use perf_data::perf_data;
pub use perf_data::{Collections, PerfData};

use crate::proc::{self, Status, Vm};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A JVM that runs on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunningJvm {
    /// Its process id.
    pub pid: u32,
    /// Its id in its own namespace, if it is in a container with one.
    pub namespace_pid: Option<u32>,
    /// Its effective user's id.
    pub uid: u32,
    /// That user's name, where `/etc/passwd` has it.
    pub user: Option<String>,
    /// Main class, module or jar.
    pub main: Option<String>,
    /// What follows it, as far as the JVM tells.
    pub arguments: Option<String>,
    /// `java.version`: "17.0.15".
    pub java_version: Option<String>,
    /// "OpenJDK 64-Bit Server VM".
    pub vm_name: Option<String>,
    /// Its JDK or JRE, in its own view of the file system.
    pub java_home: Option<PathBuf>,
    /// The options given to the VM.
    pub vm_arguments: Option<String>,
    /// How long it has been running.
    pub uptime: Option<Duration>,
    /// Whether it takes clients at all, if known.
    pub attachable: Option<bool>,
    /// Whether we may look into it and attach; if not, it takes its user or root to.
    pub accessible: bool,
}

/// Lists the JVMs, by process id. Processes that end meanwhile are left out.
pub fn list() -> Vec<RunningJvm> {
    let users = users(&std::fs::read_to_string("/etc/passwd").unwrap_or_default());
    let hinted = named_in_tmp(Path::new("/tmp"));
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids: BTreeSet<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.into_iter().filter_map(|pid| describe(pid, hinted.contains(&pid), &users)).collect()
}

fn describe(pid: u32, hinted: bool, users: &HashMap<u32, String>) -> Option<RunningJvm> {
    let status = Status::read(pid).ok()?;
    let (accessible, libjvm) = match proc::vm(pid) {
        Ok(Vm::HotSpot { libjvm }) => (true, Some(libjvm)),
        Ok(_) => return None,
        Err(_) if hinted => (false, None),
        Err(_) => return None,
    };
    let data = perf_data(pid, &status).unwrap_or_default();
    let text = |name: &str| data.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
    let command_line = proc::command_line(pid).unwrap_or_default();
    let command = text("sun.rt.javaCommand");
    let (main, arguments) = split_command(command.as_deref(), command::main_of(&command_line));
    let java_home = text("java.property.java.home").map(PathBuf::from).or_else(|| home_of(&libjvm?));
    let java_version = text("java.property.java.version")
        .or_else(|| version_in_release(&proc::path(pid, "root"), java_home.as_deref()?));
    Some(RunningJvm {
        pid,
        namespace_pid: (status.namespace_pid != pid).then_some(status.namespace_pid),
        uid: status.uid,
        user: users.get(&status.uid).cloned(),
        main,
        arguments,
        java_version,
        vm_name: text("java.property.java.vm.name"),
        java_home,
        vm_arguments: text("java.rt.vmArgs"),
        uptime: proc::age(pid),
        attachable: data.attachable(),
        accessible,
    })
}

/// The JVM's own account of what it runs is one text, in which a jar's path may have spaces; the command line tells
/// where it ends.
fn split_command(command: Option<&str>, launched: Option<String>) -> (Option<String>, Option<String>) {
    let Some(command) = command else { return (launched, None) };
    let main = match &launched {
        Some(main)
            if command
                .strip_prefix(main.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')) =>
        {
            main
        }
        _ => command.split(' ').next().unwrap_or(command),
    };
    let arguments = command.get(main.len()..).unwrap_or_default().trim_start();
    (Some(main.to_owned()), (!arguments.is_empty()).then(|| arguments.to_owned()))
}

/// `HOME/lib/server/libjvm.so`, or on JDK 8 `HOME/lib/ARCH/server/libjvm.so`.
fn home_of(libjvm: &Path) -> Option<PathBuf> {
    let lib =
        libjvm.ancestors().skip(1).find(|folder| folder.file_name().is_some_and(|name| name == "lib"))?;
    lib.parent().map(Path::to_path_buf)
}

fn version_in_release(root: &Path, home: &Path) -> Option<String> {
    let release = root.join(home.strip_prefix("/").ok()?).join("release");
    let text = std::fs::read_to_string(release).ok()?;
    let version = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    Some(version.trim().trim_matches('"').to_owned())
}

/// The process ids that name files in the folders of performance data.
fn named_in_tmp(tmp: &Path) -> BTreeSet<u32> {
    let folders = std::fs::read_dir(tmp).into_iter().flatten().flatten();
    folders
        .filter(|folder| folder.file_name().as_encoded_bytes().starts_with(b"hsperfdata_"))
        .flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten())
        .filter_map(|file| file.file_name().to_str()?.parse().ok())
        .collect()
}

fn users(passwd: &str) -> HashMap<u32, String> {
    let user = |line: &str| {
        let mut fields = line.split(':');
        Some((fields.nth(2)?.parse().ok()?, line.split(':').next()?.to_owned()))
    };
    passwd.lines().filter_map(user).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands() {
        let split = |command: &str, launched: Option<&str>| {
            let (main, arguments) = split_command(Some(command), launched.map(str::to_owned));
            (main.unwrap(), arguments.unwrap_or_default())
        };
        assert_eq!(split("Main a b", None), ("Main".into(), "a b".into()));
        assert_eq!(split("/my app.jar x", Some("/my app.jar")), ("/my app.jar".into(), "x".into()));
        assert_eq!(split("Main2 x", Some("Main")), ("Main2".into(), "x".into()));
        assert_eq!(split_command(None, Some("Main".into())), (Some("Main".into()), None));
    }

    #[test]
    fn homes() {
        let home = |path: &str| home_of(Path::new(path)).unwrap();
        assert_eq!(home("/opt/jdk/lib/server/libjvm.so"), Path::new("/opt/jdk"));
        assert_eq!(home("/opt/jdk8/jre/lib/amd64/server/libjvm.so"), Path::new("/opt/jdk8/jre"));
        assert_eq!(home_of(Path::new("libjvm.so")), None);
    }

    #[test]
    fn passwd() {
        let users = users("root:x:0:0:root:/root:/bin/sh\nbroken\napp:x:1000:1000::/:/bin/sh\n");
        assert_eq!(users.get(&1000).map(String::as_str), Some("app"));
        assert_eq!(users.len(), 2);
    }
}
