//! A program of the suite: one Java file whose first lines, marked `//:`, say in TOML what it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Deserialize;

/// How many iterations are warm-up and how many are measured.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
pub struct Split {
    /// Iterations that are not measured, at least.
    pub warmup: usize,
    /// Iterations that are: the last ones.
    pub steady: usize,
    /// After so many iterations, and [`LONG`], it is not waited any more for the JIT compiler; 0: not at all.
    #[serde(default)]
    pub most: usize,
}

/// The state is steady when the JIT compiler takes less than this part of the CPU time.
pub const STEADY: f64 = 0.04;

/// A program whose iterations are short gets at least this long to become steady.
pub const LONG: Duration = Duration::from_secs(45);

impl Split {
    /// Whether a run that has done `done` iterations, the JIT compiler having taken this part of the CPU time of the
    /// last ones, has done enough.
    pub fn is_enough(self, done: usize, compiling: f64, elapsed: Duration) -> bool {
        let waited = self.most == 0 || done >= self.most && elapsed >= LONG;
        done >= self.warmup + self.steady && (compiling < STEADY || waited)
    }
}

/// A program of the suite.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// As the command line has it.
    pub name: String,
    /// One line for people.
    pub about: String,
    /// The package whose methods a profiler is asked to count where it is asked for one package.
    pub package: String,
    /// What it needs from Maven Central: `group:artifact:version`.
    #[serde(default)]
    pub maven: Vec<String>,
    /// Iterations that are not measured, at least; three times as many where the JIT compiler needs them.
    warmup: usize,
    /// Iterations that are.
    steady: usize,
    /// The same under `--quick`.
    quick: Option<Split>,
    /// Options for the JVM.
    #[serde(default)]
    pub jvm: Vec<String>,
    /// The oldest JDK it runs on.
    #[serde(default)]
    pub jdk: u32,
    /// What every iteration must print; without it, what the first plain run printed.
    pub checksum: Option<String>,
    /// The Java file.
    #[serde(skip)]
    pub source: PathBuf,
    /// Its main class.
    #[serde(skip)]
    pub main: String,
}

impl Program {
    /// Reads the header of a Java file.
    pub fn load(source: &Path) -> anyhow::Result<Program> {
        let text = fs::read_to_string(source).with_context(|| format!("cannot read {}", source.display()))?;
        let header: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//:")).collect();
        if header.is_empty() {
            bail!("{} does not begin with `//:` lines that say what it is", source.display());
        }
        let mut program: Program = toml::from_str(&header.join("\n"))
            .with_context(|| format!("in the header of {}", source.display()))?;
        if program.steady == 0 {
            bail!("{} measures no iteration", source.display());
        }
        let class = source.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        program.main = format!("bench.{class}");
        program.source = source.to_owned();
        Ok(program)
    }

    /// All programs below a directory, by name.
    pub fn load_all(directory: &Path) -> anyhow::Result<BTreeMap<String, Program>> {
        let mut programs = BTreeMap::new();
        for entry in
            fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                programs.append(&mut Program::load_all(&path)?);
            } else if path.extension().is_some_and(|extension| extension == "java") {
                let program = Program::load(&path)?;
                programs.insert(program.name.clone(), program);
            }
        }
        Ok(programs)
    }

    /// Warm-up and measured iterations.
    pub fn split(&self, quick: bool) -> Split {
        let full = Split { warmup: self.warmup, steady: self.steady, most: self.warmup * 3 + self.steady };
        match self.quick {
            Some(split) if quick => split,
            _ if quick => Split { warmup: full.warmup.div_ceil(2), steady: full.steady.div_ceil(2), most: 0 },
            _ => full,
        }
    }

    /// Whether a word of the command line means this program: its name, or the part before a hyphen.
    pub fn is_called(&self, word: &str) -> bool {
        self.name == word || self.name.strip_prefix(word).is_some_and(|rest| rest.starts_with('-'))
    }
}

#[cfg(test)]
mod tests {
    use super::{LONG, Split};
    use std::time::Duration;

    #[test]
    fn a_run_goes_on_until_the_compiler_is_quiet() {
        let split = Split { warmup: 10, steady: 5, most: 35 };
        assert!(!split.is_enough(14, 0.0, LONG));
        assert!(split.is_enough(15, 0.0, Duration::ZERO));
        assert!(!split.is_enough(15, 0.2, LONG));
        assert!(!split.is_enough(35, 0.2, LONG / 2));
        assert!(split.is_enough(35, 0.2, LONG));
        assert!(Split { most: 0, ..split }.is_enough(15, 0.2, Duration::ZERO));
    }
}
