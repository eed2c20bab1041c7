//! Compiles the Java runtime and embeds its classes.
//!
//! The sources say `package quipu.runtime`, which is where they live when a jar is instrumented offline.
//! Inside a target JVM they are defined by the boot loader as `java.quipu` instead: every class loader
//! delegates `java.*` to it, even those (OSGi, application servers) that hide everything else.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// In the order in which they must be defined: each needs only those before it.
const CLASSES: [&str; 11] = [
    "Layout",
    "Natives",
    "Watcher",
    "ReifiedStack",
    "Cursor",
    "Link",
    "Chain",
    "Cursors",
    "Tally",
    "Direct",
    "Probe",
];

/// The same for what is defined only if contexts are sampled every so many bytecodes.
const SAMPLING_CLASSES: [&str; 1] = ["Sampler"];

/// The same for what is defined only if the user has an agent of his own: the API first.
const AGENT_API: [&str; 4] = ["MethodId", "Context", "ExactProfiler", "SamplingProfiler"];
const AGENT_CLASSES: [&str; 9] = [
    "Chunks",
    "Methods",
    "Tree",
    "NodeContext",
    "DerivedContext",
    "Activation$Failures",
    "SamplingActivation$View",
    "SamplingActivation",
    "Activation",
];

/// And for what is defined only where tests are waited for.
const TEST_CLASSES: [&str; 1] = ["Tests"];

/// And what code that profiles itself calls.
const STEERING_CLASSES: [&str; 1] = ["Steering"];

fn main() -> Result<(), Box<dyn Error>> {
    let sources = [
        PathBuf::from("../../java/runtime/quipu/runtime"),
        PathBuf::from("../../java/agents/quipu/runtime"),
        PathBuf::from("../../java/testing/quipu/runtime"),
        PathBuf::from("../../java/steering/quipu/runtime"),
        PathBuf::from("../../java/api/quipu"),
    ];
    for folder in &sources {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    println!("cargo::rerun-if-env-changed=JAVA_HOME");
    // For bench/probes: another class to be compiled instead of the one of this name.
    println!("cargo::rerun-if-env-changed=QUIPU_SAMPLER");
    let other_sampler = std::env::var_os("QUIPU_SAMPLER").map(PathBuf::from);
    if let Some(file) = &other_sampler {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let (src, classes) = (out.join("java"), out.join("classes"));
    for dir in [&src, &classes] {
        if dir.exists() {
            fs::remove_dir_all(dir)?;
        }
        fs::create_dir_all(dir)?;
    }
    let mut files = vec![write_source(&src, "Layout.java", &quipu_arena::java::source())?];
    let mut found = Vec::new();
    for folder in &sources {
        for entry in fs::read_dir(folder)? {
            found.push(entry?.path());
        }
    }
    for path in found {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = match &other_sampler {
            Some(other) if name == "Sampler.java" => other.clone(),
            _ => path,
        };
        files.push(write_source(&src, &name, &fs::read_to_string(&path)?)?);
    }
    let javac = javac();
    // Source level 8 also means that `jdk.internal.misc` can be named without exports.
    let output = Command::new(&javac)
        .args([
            "-source",
            "8",
            "-target",
            "8",
            "-Xlint:-options",
            "-XDignore.symbol.file",
            "-nowarn",
            // Nobody steps through them, and the tables are a quarter of their size.
            "-g:none",
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
    let runtime = |names: &[&str]| names.iter().map(|name| format!("java/quipu/{name}")).collect::<Vec<_>>();
    let api = AGENT_API.map(|name| format!("quipu/{name}"));
    fs::write(out.join("runtime_classes.rs"), list(&classes, &runtime(&CLASSES)))?;
    fs::write(out.join("test_classes.rs"), list(&classes, &runtime(&TEST_CLASSES)))?;
    fs::write(out.join("steering_classes.rs"), list(&classes, &runtime(&STEERING_CLASSES)))?;
    fs::write(out.join("sampling_classes.rs"), list(&classes, &runtime(&SAMPLING_CLASSES)))?;
    fs::write(
        out.join("agent_classes.rs"),
        list(&classes, &[api.to_vec(), runtime(&AGENT_CLASSES)].concat()),
    )?;
    Ok(())
}

/// Rust source of a slice with the names and bytes of classes.
fn list(classes: &Path, names: &[String]) -> String {
    let rows: String = names
        .iter()
        .map(|name| {
            let file = classes.join(format!("{name}.class"));
            format!("    (c\"{name}\", include_bytes!({:?})),\n", file.display().to_string())
        })
        .collect();
    format!("&[\n{rows}]\n")
}

fn write_source(dir: &Path, name: &str, text: &str) -> std::io::Result<PathBuf> {
    let path = dir.join(name);
    fs::write(&path, text.replace("package quipu.runtime;", "package java.quipu;"))?;
    Ok(path)
}

fn javac() -> PathBuf {
    match std::env::var_os("JAVA_HOME") {
        Some(home) if Path::new(&home).join("bin/javac").exists() => Path::new(&home).join("bin/javac"),
        _ => PathBuf::from("javac"),
    }
}
