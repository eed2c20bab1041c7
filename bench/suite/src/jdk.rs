//! The JDKs of this machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;

/// A JDK.
#[derive(Clone, Debug)]
pub struct Jdk {
    /// 17, 25.
    pub release: u32,
    /// All of the version.
    pub version: String,
    /// Who built it.
    pub vendor: String,
    /// Its directory.
    pub home: PathBuf,
}

impl Jdk {
    /// The JDK in a directory, if there is one: it has a compiler and says its version.
    pub fn at(home: &Path) -> Option<Jdk> {
        let home = home.canonicalize().ok()?;
        if !home.join("bin/javac").is_file() {
            return None;
        }
        let text = fs::read_to_string(home.join("release")).ok()?;
        let value = |key: &str| {
            text.lines().find_map(|line| {
                Some(line.strip_prefix(key)?.strip_prefix('=')?.trim_matches('"').to_owned())
            })
        };
        let version = value("JAVA_VERSION")?;
        let release = version.split(['.', '-', '+']).next()?.parse().ok()?;
        let version = value("JAVA_RUNTIME_VERSION").unwrap_or(version);
        Some(Jdk { release, version, vendor: value("IMPLEMENTOR").unwrap_or_default(), home })
    }

    /// The JDKs asked for, by release; the newest of each release. Nothing asked for: the oldest there is.
    pub fn wanted(releases: &[String]) -> anyhow::Result<Vec<Jdk>> {
        let found = all();
        if releases.iter().any(|release| release == "all") {
            return Ok(found.into_values().collect());
        }
        if releases.is_empty() {
            return match found.into_values().next() {
                Some(jdk) => Ok(vec![jdk]),
                None => bail!("no JDK found: set JAVA_HOME to one"),
            };
        }
        let mut wanted = Vec::new();
        for release in releases {
            let at = Path::new(release);
            let jdk = if at.is_dir() {
                Jdk::at(at)
            } else {
                release.parse().ok().and_then(|r: u32| found.get(&r).cloned())
            };
            match jdk {
                Some(jdk) => wanted.push(jdk),
                None => bail!("no JDK {release} found; there are: {:?}", found.keys().collect::<Vec<_>>()),
            }
        }
        Ok(wanted)
    }

    /// A program of it.
    pub fn tool(&self, name: &str) -> PathBuf {
        self.home.join("bin").join(name)
    }
}

fn all() -> BTreeMap<u32, Jdk> {
    let mut places: Vec<PathBuf> = std::env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().collect();
    for parent in ["/usr/lib/jvm", "/opt"] {
        let entries = fs::read_dir(parent).into_iter().flatten().flatten();
        places.extend(entries.map(|entry| entry.path()));
    }
    let mut jdks: BTreeMap<u32, Jdk> = BTreeMap::new();
    for jdk in places.iter().filter_map(|place| Jdk::at(place)).filter(|jdk| jdk.release >= 17) {
        jdks.entry(jdk.release).or_insert(jdk);
    }
    jdks
}
