//! Finds the JDKs of this machine that carry C headers.

use std::path::{Path, PathBuf};

/// A JDK's home and its feature version (17, 25, …).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jdk {
    pub feature: u32,
    pub home: PathBuf,
}

#[allow(dead_code, reason = "each user of this module needs a part of it")]
impl Jdk {
    pub fn include(&self) -> PathBuf {
        self.home.join("include")
    }

    pub fn jvmti_h(&self) -> PathBuf {
        self.include().join("jvmti.h")
    }

    /// The server VM; JDK 8 keeps it below the architecture's name.
    pub fn libjvm(&self) -> Option<PathBuf> {
        ["lib/server", "jre/lib/amd64/server", "jre/lib/aarch64/server"]
            .iter()
            .map(|folder| self.home.join(folder).join("libjvm.so"))
            .find(|path| path.is_file())
    }
}

/// Every JDK with a `jvmti.h`, oldest first, each once; of those in `QUIPU_JDKS` (homes, like a PATH) if that is set.
pub fn find() -> Vec<Jdk> {
    let named = std::env::var_os("QUIPU_JDKS").unwrap_or_default();
    let homes = if named.is_empty() { everywhere() } else { std::env::split_paths(&named).collect() };
    let mut jdks: Vec<Jdk> = homes
        .iter()
        .filter_map(|home| home.canonicalize().ok())
        .filter(|home| home.join("include/jvmti.h").is_file())
        .filter_map(|home| Some(Jdk { feature: feature(&home)?, home }))
        .collect();
    jdks.sort_by(|a, b| (a.feature, &a.home).cmp(&(b.feature, &b.home)));
    jdks.dedup();
    jdks
}

/// Where JDKs may be.
fn everywhere() -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = Vec::new();
    homes.extend(std::env::var_os("JAVA_HOME").map(PathBuf::from));
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        if let Ok(javac) = folder.join("javac").canonicalize() {
            homes.extend(javac.ancestors().nth(2).map(Path::to_path_buf));
        }
    }
    for parent in ["/usr/lib/jvm", "/usr/java", "/opt/java", "/opt"] {
        let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
        homes.extend(entries.map(|entry| entry.path()));
    }
    homes
}

/// From the `release` file every JDK carries: `JAVA_VERSION="17.0.2"`, or `"1.8.0_392"`.
fn feature(home: &Path) -> Option<u32> {
    let release = std::fs::read_to_string(home.join("release")).ok()?;
    let version = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    let version = version.trim_matches('"');
    let version = version.strip_prefix("1.").unwrap_or(version);
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
