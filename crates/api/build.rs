//! Compiles the API that agents are written against, for Java 8 and newer.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() -> Result<(), Box<dyn Error>> {
    let sources = PathBuf::from("../../java/api/quipu");
    println!("cargo::rerun-if-changed={}", sources.display());
    println!("cargo::rerun-if-env-changed=JAVA_HOME");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let classes = out.join("classes");
    if classes.exists() {
        fs::remove_dir_all(&classes)?;
    }
    fs::create_dir_all(&classes)?;
    let mut files = Vec::new();
    for entry in fs::read_dir(&sources)? {
        files.push(entry?.path());
    }
    files.sort();
    let javac = javac();
    let output = Command::new(&javac)
        .args(["-source", "8", "-target", "8", "-Xlint:-options", "-nowarn", "-g", "-d"])
        .arg(&classes)
        .args(&files)
        .output()
        .map_err(|e| {
            format!("cannot run {}: {e}. Install a JDK 17 or newer, or set JAVA_HOME", javac.display())
        })?;
    if !output.status.success() {
        return Err(format!("javac failed:\n{}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let rows: String = files
        .iter()
        .filter_map(|file| file.file_stem())
        .map(|name| {
            let name = name.to_string_lossy();
            let file = classes.join("quipu").join(format!("{name}.class"));
            format!("    (\"quipu/{name}.class\", include_bytes!({:?})),\n", file.display().to_string())
        })
        .collect();
    fs::write(out.join("classes.rs"), format!("&[\n{rows}]\n"))?;
    Ok(())
}

fn javac() -> PathBuf {
    match std::env::var_os("JAVA_HOME") {
        Some(home) if Path::new(&home).join("bin/javac").exists() => Path::new(&home).join("bin/javac"),
        _ => PathBuf::from("javac"),
    }
}
