//! What a program is run under: nothing, a kind of Quipu, or a peer. A kind or a peer is one TOML file.
//!
//! In its strings `{out}` is the path for what it writes (without an extension), `{package}` the program's package,
//! `{classes}` the names of all classes of that package with semicolons between them, `{jdk}` the JDK's directory,
//! `{lib}` the directory with what it needs from Maven and `{unpacked}` the file taken out of there, `{debian}` the directory
//! with Debian's packages unpacked, `{release}` the JDK's release, `{main}` the program's main class, `{port}` a free port
//! (the next one is free too) and `{bench}` the suite's directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

/// What a program is run under.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profiler {
    /// As the command line and the tables have it; the file's name.
    #[serde(skip)]
    pub name: String,
    /// One line for people.
    #[serde(default)]
    pub about: String,
    /// Which question it answers, the heading of the table in which those that answer it are compared.
    #[serde(default)]
    pub question: String,
    /// Whether it is a variant of another, which is left out first where there is no time for all.
    #[serde(default)]
    pub variant: bool,
    /// Options of `quipu run`, for a kind.
    #[serde(default)]
    pub quipu: Vec<String>,
    /// Options of the JVM, for a peer.
    #[serde(default)]
    pub jvm: Vec<String>,
    /// What it needs from Maven Central.
    #[serde(default)]
    pub maven: Vec<String>,
    /// A file to take out of those archives.
    pub unpack: Option<String>,
    /// Packages of Debian's that it needs: they are unpacked, not installed.
    #[serde(default)]
    pub debian: Vec<String>,
    /// A command that runs the JVM's command, its last words.
    #[serde(default)]
    pub wrap: Vec<String>,
    /// The oldest JDK it works on.
    #[serde(default)]
    pub jdk: u32,
    /// What it wrote, after `{out}`.
    #[serde(default)]
    pub writes: String,
    /// How to see what it found. Lines such as `calls 12`, `contexts 3`, `samples 7` go to the table, others below it.
    pub answer: Option<Answer>,
    /// Which build of Quipu, for a kind.
    #[serde(skip)]
    pub build: String,
    /// Where it comes from.
    #[serde(skip)]
    pub origin: Origin,
    /// How long a program runs before it is attached to; for a kind.
    #[serde(skip)]
    pub attach: Option<Duration>,
}

/// Where a profiler comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// No profiler at all.
    #[default]
    Plain,
    /// Quipu.
    Kind,
    /// Somebody else's.
    Peer,
}

/// How to see what a peer found.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// A command that prints it.
    pub command: Vec<String>,
    /// Lines that contain one of these are kept.
    #[serde(default)]
    pub lines: Vec<String>,
}

impl Profiler {
    /// No profiler.
    pub fn plain() -> Profiler {
        Profiler { name: "plain".to_owned(), about: "no profiler".to_owned(), ..Profiler::default() }
    }

    /// A kind from the command line: `LABEL=OPTIONS`.
    pub fn from_words(text: &str) -> anyhow::Result<Profiler> {
        let Some((name, options)) =
            text.split_once('=').filter(|(name, _)| !name.is_empty() && !name.contains('-'))
        else {
            bail!("`{text}` is not of the form LABEL=OPTIONS, such as `sites=--exact --sites`");
        };
        Ok(Profiler {
            name: name.to_owned(),
            about: options.to_owned(),
            question: "Tried".to_owned(),
            quipu: options.split_whitespace().map(str::to_owned).collect(),
            origin: Origin::Kind,
            ..Profiler::default()
        })
    }

    /// The same kind, attached to a program that has run for so long.
    pub fn attached(&self, after: Duration) -> Profiler {
        Profiler { name: format!("{}-attached", self.name), attach: Some(after), ..self.clone() }
    }

    /// All kinds or peers of a directory, by name.
    pub fn load_all(directory: &Path, origin: Origin) -> anyhow::Result<BTreeMap<String, Profiler>> {
        let mut profilers = BTreeMap::new();
        for entry in
            fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?
        {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let mut profiler: Profiler =
                toml::from_str(&text).with_context(|| format!("in {}", path.display()))?;
            profiler.name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
            profiler.origin = origin;
            profilers.insert(profiler.name.clone(), profiler);
        }
        Ok(profilers)
    }
}

#[cfg(test)]
mod tests {
    use super::Profiler;

    #[test]
    fn a_kind_from_the_command_line_has_a_label() {
        let kind = Profiler::from_words("sites=--exact --sites").unwrap();
        assert_eq!((kind.name.as_str(), kind.quipu.len()), ("sites", 2));
        assert!(Profiler::from_words("--exact --bba=precise").is_err());
    }
}
