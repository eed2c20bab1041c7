//! The flags of `--deterministic`: what the agent cannot pin once the VM is up.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Flags without which counts would depend on what the JIT or the collector did when, and what each pins.
const FLAGS: [(&str, &str); 4] = [
    ("-XX:-OptimizeStringConcat", "string concatenation"),
    ("-XX:-OmitStackTraceInFastThrow", "exceptions of the VM"),
    // As long as there is memory, which is what programs rely on, too.
    ("-XX:SoftRefLRUPolicyMSPerMB=2147483647", "soft references"),
    // The archive's objects come with a state that depends on the collector.
    ("-Xshare:off", "class data sharing"),
];

/// A flag and what it pins; empty for flags that only allow another.
pub type Flags = Vec<(&'static str, &'static str)>;

/// For a program that is counted as a whole.
pub fn flags(program: &OsStr) -> Flags {
    // Identity hash codes come from a global sequence (3) or from the thread's own state (5). The first is shifted by
    // what the JIT makes the JDK hash, the second by which thread hashes a shared object first; tests/e2e shows that
    // the first is the steadier one on JDK 17 and the second on JDK 25.
    let hash = match java_feature(program).or_else(default_feature) {
        Some(21..) => "-XX:hashCode=5",
        _ => "-XX:hashCode=3",
    };
    with_hash_codes(hash)
}

/// For tests: the agent sets the thread's own state to the same at the beginning of each.
pub fn flags_for_tests() -> Flags {
    with_hash_codes("-XX:hashCode=5")
}

fn with_hash_codes(hash: &'static str) -> Flags {
    let mut flags = FLAGS.to_vec();
    flags.extend([("-XX:+UnlockExperimentalVMOptions", ""), (hash, "identity hash codes")]);
    flags
}

/// That of the JDK which build tools use.
fn default_feature() -> Option<u32> {
    let home = std::env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin/java").into_os_string());
    home.and_then(|java| java_feature(&java)).or_else(|| java_feature(OsStr::new("java")))
}

/// The feature release of the JDK a `java` command belongs to, from the `release` file of its home.
fn java_feature(program: &OsStr) -> Option<u32> {
    let path = Path::new(program);
    let found: PathBuf = if path.components().count() > 1 {
        path.to_owned()
    } else {
        let paths = std::env::var_os("PATH")?;
        std::env::split_paths(&paths).map(|directory| directory.join(path)).find(|path| path.is_file())?
    };
    let home = found.canonicalize().ok()?.parent()?.parent()?.to_owned();
    let release = std::fs::read_to_string(home.join("release")).ok()?;
    feature_in(&release)
}

fn feature_in(release: &str) -> Option<u32> {
    let version = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?.trim_matches('"');
    let mut numbers = version.split(['.', '-', '+', '_']);
    match numbers.next()?.parse().ok()? {
        1 => numbers.next()?.parse().ok(),
        feature => Some(feature),
    }
}

#[cfg(test)]
mod tests {
    use super::feature_in;

    #[test]
    fn releases_tell_their_version() {
        assert_eq!(feature_in("IMPLEMENTOR=\"X\"\nJAVA_VERSION=\"17.0.15\"\n"), Some(17));
        assert_eq!(feature_in("JAVA_VERSION=\"25\"\n"), Some(25));
        assert_eq!(feature_in("JAVA_VERSION=\"1.8.0_402\"\n"), Some(8));
        assert_eq!(feature_in("nothing"), None);
    }
}
