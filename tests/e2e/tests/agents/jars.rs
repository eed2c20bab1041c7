//! Agents, compiled by the JDK that runs them against the API that `quipu agent-api` writes.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use quipu_e2e::{Command, Jdk, Program, Run, scratch, tools};

/// Folders of sources, from this crate.
const SOURCES: [&str; 2] = ["../agents", "../../java/examples/quipu/examples"];

/// The program under an agent of this class.
pub fn under(agent: &str, program: Program, jdk: &Jdk) -> Run {
    let option = format!("{}={agent}", jar(jdk).display());
    program.quipu(["--agent", &option]).run(jdk)
}

/// The jar with all agents.
pub fn jar(jdk: &Jdk) -> PathBuf {
    static MADE: Mutex<Option<HashMap<PathBuf, PathBuf>>> = Mutex::new(None);
    let mut made = MADE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    made.get_or_insert_default().entry(jdk.home.clone()).or_insert_with(|| make(jdk)).clone()
}

fn make(jdk: &Jdk) -> PathBuf {
    let directory = scratch("agents");
    let (api, classes, jar) =
        (directory.join("api.jar"), directory.join("classes"), directory.join("agents.jar"));
    // Old compilers want it to be there.
    fs::create_dir_all(&classes).expect("a directory");
    let mut sources = Vec::new();
    for folder in SOURCES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        sources.extend(fs::read_dir(folder).expect("sources").map(|entry| entry.expect("a source").path()));
    }
    succeed(Command::new(&tools().quipu).arg("agent-api").arg("-o").arg(&api));
    let mut javac = Command::new(jdk.home.join("bin/javac"));
    succeed(
        javac.arg("-Xlint:all").arg("-Werror").arg("-cp").arg(&api).arg("-d").arg(&classes).args(sources),
    );
    succeed(Command::new(jdk.home.join("bin/jar")).arg("cf").arg(&jar).arg("-C").arg(&classes).arg("."));
    jar
}

fn succeed(command: &mut Command) {
    let output = command.output().expect("the command starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
