//! Compiles the Java runtime for programs without an agent, and embeds its classes.
//!
//! [`SHARED`] are the agent's own sources, by folder. They name `jdk.internal.misc.Unsafe`; without the import, the name is that of
//! a class in `java/offline`, which is all that differs. The JDK's annotations stay: they work where the runtime is put
//! on the boot class path.

use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SHARED: [(&str, &[&str]); 3] = [
    ("shared", &["Cursor", "Chain", "Cursors", "Ledger", "Link"]),
    ("exact", &["Probe", "Tally"]),
    ("bytecodes", &["ReifiedStack", "Sampler", "Watcher"]),
];
/// Needs method handles, and is not shown to JVMs that have none.
const NEWER: &str = "ForeignMemory.java";

fn main() -> Result<(), Box<dyn Error>> {
    let (shared, own) = ("../../java/runtime", "../../java/offline/quipu/runtime");
    for watched in [shared, own] {
        println!("cargo::rerun-if-changed={watched}");
    }
    println!("cargo::rerun-if-env-changed=JAVA_HOME");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let (sources, classes) = (out.join("java"), out.join("classes"));
    for dir in [&sources, &classes] {
        if dir.exists() {
            fs::remove_dir_all(dir)?;
        }
        fs::create_dir_all(dir)?;
    }
    fs::write(sources.join("Layout.java"), quipu_arena::java::source())?;
    let files = SHARED.iter().flat_map(|(folder, names)| names.iter().map(move |name| (folder, name)));
    for (folder, name) in files {
        let name = format!("{name}.java");
        let text = fs::read_to_string(Path::new(shared).join(folder).join(&name))?;
        let lines = text.lines().filter(|line| !line.starts_with("import jdk.internal.misc."));
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        fs::write(sources.join(name), text)?;
    }
    for entry in fs::read_dir(own)? {
        let path = entry?.path();
        fs::copy(&path, sources.join(path.file_name().unwrap_or_default()))?;
    }
    let files = files_in(&sources)?;
    let (newer, all): (Vec<PathBuf>, Vec<PathBuf>) =
        files.into_iter().partition(|file| file.file_name() == Some(OsStr::new(NEWER)));
    let old = ["-source", "8", "-target", "8", "-Xlint:-options", "-XDignore.symbol.file"];
    javac(&classes, &old, &all)?;
    let annotations = "java.base/jdk.internal.vm.annotation=ALL-UNNAMED";
    let new = ["-source", "9", "-target", "9", "-Xlint:-options", "--add-exports", annotations];
    javac(&classes, &new, &newer)?;
    let mut list = String::new();
    for file in files_in(&classes.join("quipu/runtime"))? {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        list += &format!("    ({name:?}, include_bytes!({:?})),\n", file.display().to_string());
    }
    fs::write(out.join("runtime_classes.rs"), format!("&[\n{list}]\n"))?;
    Ok(())
}

/// Sorted, so that the runtime's jar is the same every time.
fn files_in(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    files.sort();
    Ok(files)
}

fn javac(classes: &Path, options: &[&str], files: &[PathBuf]) -> Result<(), Box<dyn Error>> {
    let javac = match std::env::var_os("JAVA_HOME") {
        Some(home) if Path::new(&home).join("bin/javac").exists() => Path::new(&home).join("bin/javac"),
        _ => PathBuf::from("javac"),
    };
    let mut command = Command::new(&javac);
    command
        .args(["-encoding", "UTF-8"])
        .args(options)
        .args(["-nowarn", "-g", "-cp"])
        .arg(classes)
        .arg("-d")
        .arg(classes)
        .args(files);
    let output = command.output().map_err(|e| {
        format!("cannot run {}: {e}. Install a JDK 17 or newer, or set JAVA_HOME", javac.display())
    })?;
    if !output.status.success() {
        return Err(format!("javac failed:\n{}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(())
}
