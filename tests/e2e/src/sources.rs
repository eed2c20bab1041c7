//! The Java programs of `tests/programs`, compiled by the JDK that runs them.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::Jdk;
use crate::child::Command;
use crate::tools::{alone, kept, scratch};

/// Folders of sources by the version they need.
const FOLDERS: [(u32, &str); 4] = [(0, "."), (11, "since11"), (17, "since17"), (21, "since21")];

/// The directory with the compiled programs; compiled only if a source changed, or if no process has done so before.
pub fn classes(jdk: &Jdk) -> PathBuf {
    static COMPILED: Mutex<Option<HashMap<PathBuf, PathBuf>>> = Mutex::new(None);
    // A test that fails while it holds the lock does not matter to the others.
    let mut compiled = COMPILED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    compiled.get_or_insert_default().entry(jdk.home.clone()).or_insert_with(|| compile(jdk)).clone()
}

/// The oldest JDK that can compile a program; 0 for what is none of `tests/programs`.
pub fn since(main: &str) -> u32 {
    let file = format!("{main}.java");
    let found = FOLDERS.iter().find(|(_, within)| folder().join(within).join(&file).is_file());
    found.map_or(0, |(since, _)| *since)
}

/// Where the sources lie.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs")
}

fn compile(jdk: &Jdk) -> PathBuf {
    let home = jdk.home.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let classes = kept("classes").join(home);
    let stamp = classes.join("sources");
    let mut files = Vec::new();
    for (_, folder) in FOLDERS.iter().filter(|(since, _)| *since <= jdk.feature) {
        for entry in fs::read_dir(self::folder().join(folder)).into_iter().flatten().flatten() {
            files.extend(Some(entry.path()).filter(|path| path.extension().is_some_and(|e| e == "java")));
        }
    }
    files.sort();
    let _alone = alone("classes");
    let contents: String =
        files.iter().map(|file| fs::read_to_string(file).expect("a readable source")).collect();
    if fs::read_to_string(&stamp).is_ok_and(|compiled| compiled == contents) {
        return classes;
    }
    let fresh = scratch("classes");
    let mut javac = Command::new(jdk.home.join("bin/javac"));
    let output = javac.args(["-g", "-nowarn", "-d"]).arg(&fresh).args(&files).output().expect("javac runs");
    assert!(
        output.status.success(),
        "javac of JDK {}:\n{}",
        jdk.feature,
        String::from_utf8_lossy(&output.stderr)
    );
    let _ = fs::remove_dir_all(&classes);
    fs::rename(&fresh, &classes).expect("classes move into place");
    fs::write(stamp, contents).expect("a stamp can be written");
    classes
}
