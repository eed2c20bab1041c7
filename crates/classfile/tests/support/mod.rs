//! What the corpus tests share: the JDKs of this machine, libraries from Maven Central, and running Java.
//!
//! Everything fetched or unpacked is cached below the target directory. `QUIPU_FULL=1` takes every class and library
//! instead of a sample; `QUIPU_JDKS` (colon separated) names JDKs elsewhere than `/usr/lib/jvm` and `JAVA_HOME`.
#![allow(dead_code)]

pub mod exercise;
pub mod shapes;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

/// One lock for everything that fills the cache: tests of a binary run in parallel.
static CACHE: Mutex<()> = Mutex::new(());

/// Take all classes, not a sample?
pub fn full() -> bool {
    std::env::var_os("QUIPU_FULL").is_some_and(|v| v == "1")
}

fn cache(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// A scratch directory, empty.
pub fn scratch(name: &str) -> PathBuf {
    let directory = cache(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).expect("scratch directory");
    directory
}

/// An installed JDK.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Jdk {
    pub home: PathBuf,
    pub name: String,
}

impl Jdk {
    pub fn tool(&self, name: &str) -> Command {
        Command::new(self.home.join("bin").join(name))
    }

    /// The class files of its run-time image, by module.
    pub fn classes(&self) -> PathBuf {
        let _guard = CACHE.lock();
        let directory = cache(&format!("image-{}", self.name));
        if !directory.join(".done").exists() {
            let _ = fs::remove_dir_all(&directory);
            let modules = self.home.join("lib/modules");
            run(self.tool("jimage").arg("extract").arg("--dir").arg(&directory).arg(modules));
            fs::write(directory.join(".done"), "").expect("mark");
        }
        directory
    }
}

/// Every JDK found, by real path.
pub fn jdks() -> Vec<Jdk> {
    let named = std::env::var("QUIPU_JDKS").unwrap_or_default();
    let java_home = std::env::var("JAVA_HOME").unwrap_or_default();
    let installed = fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten().map(|e| e.path());
    let candidates = named.split(':').map(PathBuf::from).chain([PathBuf::from(java_home)]).chain(installed);
    let found: BTreeSet<Jdk> = candidates
        .filter(|home| home.join("bin/javac").exists() && home.join("lib/modules").exists())
        .filter_map(|home| home.canonicalize().ok())
        .map(|home| Jdk { name: home.file_name().unwrap_or_default().to_string_lossy().into_owned(), home })
        .collect();
    if found.is_empty() {
        eprintln!("no JDK found: nothing to test against");
    }
    found.into_iter().collect()
}

/// The newest JDK, for tests that need just one.
pub fn any_jdk() -> Option<Jdk> {
    jdks().into_iter().max_by_key(|jdk| {
        let release = fs::read_to_string(jdk.home.join("release")).unwrap_or_default();
        let version = release.lines().find_map(|l| l.strip_prefix("JAVA_VERSION=\"").map(String::from));
        version.and_then(|v| v.split(['.', '"']).next().and_then(|n| n.parse::<u32>().ok()))
    })
}

/// Runs a command and insists on success.
pub fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(
        output.status.success(),
        "{command:?} failed:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// All class files below a directory in a stable order.
pub fn class_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![directory.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).expect("corpus directory") {
            let path = entry.expect("entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "class") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Every twentieth class, or all of them in a full run.
pub fn sampled(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let step = if full() { 1 } else { 20 };
    files.into_iter().step_by(step).collect()
}

/// Unpacked libraries of `tests/libraries.txt`: the first few, or all in a full run. None where Maven is missing.
pub fn libraries() -> Vec<(String, PathBuf)> {
    let Some(jdk) = any_jdk() else { return Vec::new() };
    let _guard = CACHE.lock();
    let list = include_str!("../libraries.txt").lines().filter(|l| !l.is_empty() && !l.starts_with('#'));
    let count = if full() { usize::MAX } else { 3 };
    let mut found = Vec::new();
    for artifact in list.take(count) {
        let directory = cache("libraries").join(artifact.replace(':', "_"));
        if !directory.join(".done").exists() {
            let _ = fs::remove_dir_all(&directory);
            let jars = directory.join("jar");
            fs::create_dir_all(&jars).expect("library directory");
            let mut maven = Command::new("mvn");
            maven.args(["-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"]);
            maven.arg(format!("-Dartifact={artifact}"));
            maven.arg(format!("-DoutputDirectory={}", jars.display()));
            match maven.output() {
                Ok(output) if output.status.success() => {}
                other => {
                    assert!(!full(), "{artifact}: {other:?}");
                    eprintln!("{artifact}: not fetched, left out");
                    continue;
                }
            }
            for jar in fs::read_dir(&jars).expect("jars").flatten() {
                let classes = directory.join("classes");
                fs::create_dir_all(&classes).expect("classes");
                run(jdk.tool("jar").arg("-xf").arg(jar.path()).current_dir(classes));
            }
            fs::write(directory.join(".done"), "").expect("mark");
        }
        found.push((artifact.to_string(), directory.join("classes")));
    }
    found
}

/// Compiles a Java file of this directory into `to`.
pub fn javac(jdk: &Jdk, source: &Path, to: &Path) {
    run(jdk.tool("javac").arg("-nowarn").arg("-d").arg(to).arg(source));
}

/// Path of a Java test program.
pub fn java_source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java").join(name)
}
