//! The programs under test, built, and a place for what tests make.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::fs::FlockOperation;

use crate::child::Command;

/// What is tested, and the oracle.
#[derive(Debug)]
pub struct Tools {
    /// The command; the agent library lies beside it.
    pub quipu: PathBuf,
    /// The same with debug assertions, for what only such an agent tells.
    pub checked: PathBuf,
    /// The oracle's library.
    pub oracle: PathBuf,
}

const FILES: [&str; 3] = ["quipu", "libquipu_agent.so", "libquipu_oracle.so"];

/// Builds the tools, once in this process. They are copied, so that a build meanwhile does not change what is tested.
/// Those in the directory `QUIPU_E2E_TOOLS` are tested instead, if it is set; its `checked` has those with debug assertions, if
/// the others have none.
pub fn tools() -> &'static Tools {
    static TOOLS: OnceLock<Tools> = OnceLock::new();
    TOOLS.get_or_init(|| {
        if let Some(ready) = std::env::var_os("QUIPU_E2E_TOOLS").map(PathBuf::from) {
            let checked = Some(ready.join("checked")).filter(|directory| directory.exists());
            return Tools {
                quipu: ready.join(FILES[0]),
                checked: checked.as_ref().unwrap_or(&ready).join(FILES[0]),
                oracle: ready.join(FILES[2]),
            };
        }
        let built = build_directory();
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args([
            "build",
            "-q",
            "-p",
            "quipu-cli",
            "-p",
            "quipu-agent",
            "-p",
            "quipu-oracle",
            "--target-dir",
        ]);
        build.arg(target_directory()).current_dir(env!("CARGO_MANIFEST_DIR"));
        if built.ends_with("release") {
            build.arg("--release");
        }
        // From nothing, on a busy machine.
        build.patience(Duration::from_secs(3600));
        assert!(build.status().expect("cargo runs").success(), "the tools can be built");
        let here = scratch("tools");
        for file in FILES {
            fs::copy(built.join(file), here.join(file)).expect(file);
        }
        let quipu = here.join(FILES[0]);
        Tools { checked: quipu.clone(), quipu, oracle: here.join(FILES[2]) }
    })
}

/// A new, empty directory of this process, below `target`. What earlier processes left there is removed.
pub fn scratch(name: &str) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    let home = HOME.get_or_init(|| {
        let all = kept("runs");
        for old in fs::read_dir(&all).into_iter().flatten().flatten() {
            let pid = old.file_name();
            if !Path::new("/proc").join(&pid).exists() {
                let _ = fs::remove_dir_all(old.path());
            }
        }
        all.join(std::process::id().to_string())
    });
    let directory = home.join(format!("{name}-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
    fs::create_dir_all(&directory).expect("a directory below target");
    directory
}

/// A directory below `target` that later runs use again.
pub fn kept(name: &str) -> PathBuf {
    let directory = target_directory().join("e2e").join(name);
    fs::create_dir_all(&directory).expect("a directory below target");
    directory
}

/// Keeps other processes from making the same, as long as the file is open: several of them test at a time.
pub fn alone(name: &str) -> File {
    let lock = File::create(kept(name).with_extension("lock")).expect("a file below target");
    rustix::fs::flock(&lock, FlockOperation::LockExclusive).expect("a lock");
    lock
}

/// Where Cargo put this test: `target/debug/deps/exact-0123` is in `target/debug`.
fn build_directory() -> PathBuf {
    let test = std::env::current_exe().expect("this program has a path");
    test.ancestors().nth(2).expect("tests lie in the target directory").to_owned()
}

fn target_directory() -> PathBuf {
    build_directory().parent().expect("profiles lie in the target directory").to_owned()
}
