//! Which JVM this is.

use crate::{Error, Jvmti, Result};

/// The JVM, as its own properties describe it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JdkVersion {
    /// 8, 17, 25, …
    pub feature: u32,
    /// `java.vm.version`: "17.0.15+6-Debian-1"; on JDK 8 this is HotSpot's own number.
    pub version: String,
    /// `java.vm.name`: "OpenJDK 64-Bit Server VM".
    pub name: String,
    /// `java.vm.vendor`.
    pub vendor: String,
    /// `java.vm.info`: "mixed mode, sharing".
    pub mode: String,
    /// `java.home`.
    pub home: String,
}

/// Asks the VM what it is. Works in every phase: these are the properties the VM itself sets before `Agent_OnLoad`,
/// unlike `java.version`, which Java code adds later and JVMTI never shows.
pub fn jdk_version(jvmti: Jvmti) -> Result<JdkVersion> {
    let property = |name| jvmti.system_property(name);
    let text = |name| property(name).unwrap_or_default();
    let specification = property(c"java.vm.specification.version")?;
    let feature =
        feature_of(&specification).ok_or_else(|| Error::new("GetSystemProperty", crate::Cause::Null))?;
    Ok(JdkVersion {
        feature,
        version: text(c"java.vm.version"),
        name: text(c"java.vm.name"),
        vendor: text(c"java.vm.vendor"),
        mode: text(c"java.vm.info"),
        home: text(c"java.home"),
    })
}

/// The feature release in a version: 8 in "1.8" and "1.8.0_392", 17 in "17" and "17.0.15+6", 25 in "25-ea".
pub fn feature_of(version: &str) -> Option<u32> {
    let version = version.strip_prefix("1.").unwrap_or(version);
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::feature_of;

    #[test]
    fn features() {
        let known = [("1.8", 8), ("1.8.0_392", 8), ("17", 17), ("17.0.15+6", 17), ("25-ea", 25)];
        for (version, feature) in known {
            assert_eq!(feature_of(version), Some(feature), "{version}");
        }
        assert_eq!(feature_of("unknown"), None);
    }
}
