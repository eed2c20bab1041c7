//! Compiles the API that agents are written against and the listeners for test frameworks, for Java 8 and newer.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=JAVA_HOME");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let java = PathBuf::from("../../java");
    compile(&out, "classes", &[java.join("api")])?;
    // The frameworks themselves are not here: what is needed of them is declared in the stubs, which stay outside.
    compile(&out, "listeners", &[java.join("junit")])?;
    // By itself: a class that is called like a package cannot be compiled together with it.
    compile(&out, "jmh", &[java.join("jmh")])?;
    Ok(())
}

/// Compiles what is below some folders; a list of the classes that are Quipu's own goes to `NAME.rs`.
fn compile(out: &Path, name: &str, folders: &[PathBuf]) -> Result<(), Box<dyn Error>> {
    let classes = out.join(name);
    if classes.exists() {
        fs::remove_dir_all(&classes)?;
    }
    fs::create_dir_all(&classes)?;
    let mut files = Vec::new();
    for folder in folders {
        println!("cargo::rerun-if-changed={}", folder.display());
        below(folder, "java", &mut files)?;
    }
    let javac = javac();
    let output = Command::new(&javac)
        .args([
            "-encoding",
            "UTF-8",
            "-source",
            "8",
            "-target",
            "8",
            "-Xlint:-options",
            "-nowarn",
            "-g",
            "-d",
        ])
        .arg(&classes)
        .args(&files)
        .output()
        .map_err(|e| {
            format!("cannot run {}: {e}. Install a JDK 17 or newer, or set JAVA_HOME", javac.display())
        })?;
    if !output.status.success() {
        return Err(format!("javac failed:\n{}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let mut found = Vec::new();
    below(&classes, "class", &mut found)?;
    found.retain(|file| file.strip_prefix(&classes).is_ok_and(|name| !name.starts_with("org")));
    let rows: String = found
        .iter()
        .filter_map(|file| Some((file.strip_prefix(&classes).ok()?, file)))
        .map(|(name, file)| format!("    ({:?}, include_bytes!({:?})),\n", name.display().to_string(), file))
        .collect();
    fs::write(out.join(format!("{name}.rs")), format!("&[\n{rows}]\n"))?;
    Ok(())
}

/// Files with this extension, in a steady order.
fn below(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(|entry| entry.file_name());
    for path in entries.iter().map(|entry| entry.path()) {
        if path.is_dir() {
            below(&path, extension, files)?;
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
    Ok(())
}

fn javac() -> PathBuf {
    match std::env::var_os("JAVA_HOME") {
        Some(home) if Path::new(&home).join("bin/javac").exists() => Path::new(&home).join("bin/javac"),
        _ => PathBuf::from("javac"),
    }
}
