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

/// Every JDK of the machine with a `jvmti.h`, oldest first, each once; of those in `QUIPU_JDKS` (homes, like a PATH) if
/// that is set.
#[allow(dead_code, reason = "each user of this module needs a part of it")]
pub fn find() -> Vec<Jdk> {
    of(named().unwrap_or_else(everywhere))
}

/// The same with those that `scripts/jdks` has put into a root of their own. Their programs run like any other, but
/// their libraries need the C library of that root.
#[allow(dead_code, reason = "each user of this module needs a part of it")]
pub fn find_all() -> Vec<Jdk> {
    of(named().unwrap_or_else(|| [everywhere(), in_the_root()].concat()))
}

fn named() -> Option<Vec<PathBuf>> {
    let named = std::env::var_os("QUIPU_JDKS").filter(|named| !named.is_empty())?;
    Some(std::env::split_paths(&named).collect())
}

fn of(homes: Vec<PathBuf>) -> Vec<Jdk> {
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

/// What `scripts/jdks` has made; the same place as there.
fn in_the_root() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = variable("QUIPU_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("quipu")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/quipu")));
    let entries = cache.map(|cache| std::fs::read_dir(cache.join("jdks/root/usr/lib/jvm")));
    entries.into_iter().flatten().flatten().flatten().map(|entry| entry.path()).collect()
}

/// From the `release` file that JDKs carry: `JAVA_VERSION="17.0.2"`, or `"1.8.0_392"`. Debian's JDK 8 has none.
fn feature(home: &Path) -> Option<u32> {
    let Ok(release) = std::fs::read_to_string(home.join("release")) else {
        return home.join("jre/lib/rt.jar").is_file().then_some(8);
    };
    let version = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    let version = version.trim_matches('"');
    let version = version.strip_prefix("1.").unwrap_or(version);
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
