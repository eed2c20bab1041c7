//! Compiles the Java runtime and embeds its classes, packed.
//!
//! The sources say `package quipu.runtime`, which is where they live when a jar is instrumented offline.
//! Inside a target JVM they are defined by the boot loader as `java.quipu` instead: every class loader
//! delegates `java.*` to it, even those (OSGi, application servers) that hide everything else.

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "build/pack.rs"]
mod pack;

/// Classes that are defined together: what they are for, which is the name of the group in the agent, and their names in the
/// order in which they must be defined: each needs only those before.
type Group = (&'static str, &'static [&'static str]);

/// The classes of `java.quipu`. Their sources are in folders of `java/runtime`, one for each kind that inserts code and each
/// thing that few need; how many of them are defined depends on what is asked for.
const RUNTIME: [Group; 10] = [
    // Whatever is inserted. A cursor has a stack, should bytecodes be sampled.
    (
        "runtime",
        &[
            "Layout",
            "Natives",
            "Watcher",
            "ReifiedStack",
            "Ledger",
            "Cursor",
            "Link",
            "Chain",
            "Cursors",
            "Tally",
            "Direct",
            "Kinds$Instruction",
            "Kinds$Kind",
            "Kinds",
            "Probe",
        ],
    ),
    // A sample every so many bytecodes.
    ("bytecodes", &["Sampler"]),
    // The user's own agent.
    (
        "agent",
        &[
            "Chunks",
            "Methods",
            "Tree",
            "NodeContext",
            "DerivedContext",
            "Activation$Failures",
            "SamplingActivation$View",
            "SamplingActivation",
            "Activation",
        ],
    ),
    // What counting costs.
    ("calibration", &["Calibrated"]),
    // Everything that is made.
    ("alloc", &["Made"]),
    // Waiting for locks.
    ("locks", &["Parking"]),
    // Everything that is locked.
    ("held", &["Held"]),
    // Times below a root.
    ("root", &["Timer"]),
    // Tests that are waited for.
    ("test", &["Tests", "Reflected"]),
    // Code that profiles itself.
    ("steering", &["Steering"]),
];

/// What the user's own agent is compiled against; defined before what calls it.
const AGENT_API: [&str; 4] = ["MethodId", "Context", "ExactProfiler", "SamplingProfiler"];

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = PathBuf::from("../../java/runtime");
    let mut sources = vec![PathBuf::from("../../java/api/quipu")];
    for folder in fs::read_dir(&runtime)? {
        sources.push(folder?.path());
    }
    for folder in sources.iter().chain([&runtime]) {
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
    found.sort();
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
            "-encoding",
            "UTF-8",
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
    let (mut source, mut groups, mut all) = (String::new(), String::new(), Vec::new());
    for (group, names) in RUNTIME {
        let api = AGENT_API.iter().filter(|_| group == "agent").map(|name| format!("quipu/{name}"));
        let (begin, mut list, group) = (all.len(), String::new(), group.to_uppercase());
        for name in api.chain(names.iter().map(|name| format!("java/quipu/{name}"))) {
            let class = fs::read(classes.join(format!("{name}.class")))?;
            write!(list, "(c\"{name}\", {}), ", class.len())?;
            all.extend(class);
        }
        writeln!(source, "pub const {group}: Group = Group {{ classes: &[{list}], begin: {begin} }};")?;
        write!(groups, "{group}, ")?;
    }
    let packed = out.join("classes.lz4");
    fs::write(&packed, pack::pack(&all))?;
    writeln!(source, "static PACKED: &[u8] = include_bytes!({packed:?});")?;
    writeln!(source, "#[cfg(test)]\nconst ALL: &[Group] = &[{groups}];")?;
    fs::write(out.join("classes.rs"), source)?;
    Ok(())
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
