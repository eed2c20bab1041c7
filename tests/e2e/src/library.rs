//! Java libraries, by name.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use crate::child::Command;
use crate::tools::{alone, kept};

/// The jar of `group:artifact:version`. Maven brings it, from wherever it is set up to look; it is then kept.
pub fn library(name: &str) -> PathBuf {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = kept("libraries");
    let _alone = alone("libraries");
    let mut parts = name.split(':').skip(1);
    let (artifact, version) = (parts.next().expect("an artifact"), parts.next().expect("a version"));
    let jar = folder.join(format!("{artifact}-{version}.jar"));
    if jar.exists() {
        return jar;
    }
    let mut maven = Command::new("mvn");
    maven.args(["-q", "-B", "dependency:copy", "-Dmdep.useBaseVersion=true"]);
    maven.arg(format!("-Dartifact={name}")).arg(format!("-DoutputDirectory={}", folder.display()));
    let output = maven.current_dir(&folder).output().expect("mvn runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "mvn could not bring {name}:\n{said}");
    assert!(fs::metadata(&jar).is_ok(), "mvn did not put {} there:\n{said}", jar.display());
    jar
}
