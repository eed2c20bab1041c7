//! What a run needs on disk: archives from Maven Central, packages of Debian's, compiled programs, copies of the builds
//! under test. All of it lives below `target/bench` and is made again when what it is made from changes.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::jdk::Jdk;
use crate::program::Program;

const COPY_DEPENDENCIES: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies";

/// The directory for everything that is made.
#[derive(Clone, Debug)]
pub struct Workshop {
    /// `bench/`: sources.
    pub sources: PathBuf,
    /// `target/bench/`: what is made from them.
    pub made: PathBuf,
}

impl Workshop {
    /// Archives from Maven Central with all they need, in a directory of their own.
    pub fn archives(&self, coordinates: &[String]) -> anyhow::Result<Option<PathBuf>> {
        if coordinates.is_empty() {
            return Ok(None);
        }
        let name: String = coordinates
            .join("+")
            .chars()
            .map(|c| if c.is_alphanumeric() || "+.-".contains(c) { c } else { '_' })
            .collect();
        let directory = self.made.join("maven").join(name);
        let complete = directory.join("complete");
        if !complete.is_file() {
            fs::create_dir_all(&directory)?;
            fs::write(directory.join("pom.xml"), pom(coordinates)?)?;
            let mut maven = Command::new("mvn");
            maven.args(["-q", "-B", COPY_DEPENDENCIES, "-DoutputDirectory=lib"]).current_dir(&directory);
            quietly(&mut maven).with_context(|| format!("cannot get {} with mvn", coordinates.join(", ")))?;
            fs::write(complete, "")?;
        }
        Ok(Some(directory.join("lib")))
    }

    /// A file or directory inside one of the archives.
    pub fn unpacked(&self, lib: &Path, name: &str, jdk: &Jdk) -> anyhow::Result<PathBuf> {
        let place = lib.with_file_name("unpacked");
        let file = place.join(name);
        if !file.exists() {
            fs::create_dir_all(&place)?;
            for jar in jars(lib)? {
                let mut unpack = Command::new(jdk.tool("jar"));
                quietly(unpack.arg("xf").arg(jar.canonicalize()?).arg(name).current_dir(&place))?;
            }
        }
        if !file.exists() {
            bail!("no archive in {} has {name}", lib.display());
        }
        Ok(file)
    }

    /// Packages of Debian's, unpacked together into a directory of their own.
    pub fn packages(&self, names: &[String]) -> anyhow::Result<Option<PathBuf>> {
        if names.is_empty() {
            return Ok(None);
        }
        let directory = self.made.join("debian").join(names.join("+"));
        let complete = directory.join("complete");
        if !complete.is_file() {
            fs::create_dir_all(&directory)?;
            quietly(Command::new("apt-get").arg("download").args(names).current_dir(&directory))
                .with_context(|| format!("cannot get Debian's {}", names.join(", ")))?;
            for package in listed(&directory, "deb")? {
                quietly(Command::new("dpkg").arg("-x").arg(package).arg(&directory))?;
            }
            fs::write(complete, "")?;
        }
        Ok(Some(directory))
    }

    /// The class path of a program, compiled.
    pub fn class_path(&self, program: &Program, jdk: &Jdk) -> anyhow::Result<OsString> {
        let classes = self.made.join("classes").join(&program.name);
        let mut parts = vec![classes.clone()];
        if let Some(lib) = self.archives(&program.maven)? {
            parts.extend(jars(&lib)?);
        }
        let class_path = std::env::join_paths(&parts)?;
        let support = sources(&self.sources.join("support"))?;
        let made = classes
            .join("bench")
            .join(program.source.with_extension("class").file_name().unwrap_or_default());
        if !newer(&made, support.iter().chain([&program.source])) {
            fs::create_dir_all(&classes)?;
            let mut javac = Command::new(jdk.tool("javac"));
            javac
                .args(["--release", "17", "-nowarn", "-proc:none", "-d"])
                .arg(&classes)
                .arg("-cp")
                .arg(&class_path);
            quietly(javac.args(&support).arg(&program.source))
                .with_context(|| format!("cannot compile {}", program.source.display()))?;
        }
        Ok(class_path)
    }

    /// A copy of a build of Quipu, so that one that is made anew in the middle of a run changes nothing.
    pub fn build(&self, label: &str, from: &Path) -> anyhow::Result<PathBuf> {
        let place = self.made.join("builds").join(format!("{label}-{}", std::process::id()));
        fs::create_dir_all(&place)?;
        for name in ["quipu", "libquipu_agent.so"] {
            let file = from.join(name);
            fs::copy(&file, place.join(name)).with_context(|| {
                format!(
                    "cannot copy {}: build it with `cargo build --release -p quipu-cli -p quipu-agent`",
                    file.display()
                )
            })?;
        }
        Ok(place.join("quipu"))
    }
}

fn pom(coordinates: &[String]) -> anyhow::Result<String> {
    let mut dependencies = String::new();
    for one in coordinates {
        let parts: Vec<&str> = one.split(':').collect();
        let [group, artifact, version] = parts.as_slice() else {
            bail!("`{one}` is not of the form group:artifact:version");
        };
        dependencies += &format!(
            "<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version></dependency>\n"
        );
    }
    Ok(format!(
        "<project>\n<modelVersion>4.0.0</modelVersion>\n<groupId>quipu.bench</groupId>\n<artifactId>needs</artifactId>\n\
         <version>1</version>\n<dependencies>\n{dependencies}</dependencies>\n</project>\n"
    ))
}

/// Runs a command that has nothing to say unless it fails.
fn quietly(command: &mut Command) -> anyhow::Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        bail!(
            "{program} failed:\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

fn jars(lib: &Path) -> anyhow::Result<Vec<PathBuf>> {
    listed(lib, "jar")
}

fn sources(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    listed(directory, "java")
}

fn listed(directory: &Path, extension: &str) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|it| it == extension))
        .collect();
    files.sort();
    Ok(files)
}

fn newer<'a>(made: &Path, mut sources: impl Iterator<Item = &'a PathBuf>) -> bool {
    let modified = |path: &Path| fs::metadata(path).and_then(|m| m.modified()).ok();
    let made = modified(made);
    made.is_some() && sources.all(|source| modified(source) <= made)
}
