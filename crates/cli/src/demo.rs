//! `quipu demo`: the main job on something every machine with a JDK has.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Parser};

use crate::Cli;
use crate::exit::{DONE, Failure};

/// Profile `javac` compiling Quipu's own Java sources, show what it did and write demo.html.
#[derive(Args, Debug)]
pub struct Demo {
    /// Directories with Java sources to compile instead
    #[arg(long, value_name = "DIR", num_args = 1..)]
    sources: Vec<PathBuf>,
}

/// Sources that come with the command: a demo must work wherever it is tried.
const SOURCES: [(&str, &str); 9] = [
    ("Context.java", include_str!("../../../java/api/quipu/Context.java")),
    ("ExactProfiler.java", include_str!("../../../java/api/quipu/ExactProfiler.java")),
    ("Label.java", include_str!("../../../java/api/quipu/Label.java")),
    ("MethodId.java", include_str!("../../../java/api/quipu/MethodId.java")),
    ("Profiler.java", include_str!("../../../java/api/quipu/Profiler.java")),
    ("SamplingProfiler.java", include_str!("../../../java/api/quipu/SamplingProfiler.java")),
    ("CollapsedStacks.java", include_str!("../../../java/examples/quipu/examples/CollapsedStacks.java")),
    ("MergedTree.java", include_str!("../../../java/examples/quipu/examples/MergedTree.java")),
    ("TopMethods.java", include_str!("../../../java/examples/quipu/examples/TopMethods.java")),
];

impl Demo {
    /// Runs the commands a person would type, and shows them.
    pub fn run(self) -> anyhow::Result<u8> {
        let work = std::env::temp_dir().join(format!("quipu-demo-{}", std::process::id()));
        let shown = self.in_directory(&work);
        let _ = std::fs::remove_dir_all(&work);
        shown
    }

    fn in_directory(self, work: &Path) -> anyhow::Result<u8> {
        let (own, classes) = (work.join("sources"), work.join("classes"));
        let mut files = Vec::new();
        for directory in &self.sources {
            java_files(directory, &mut files)?;
        }
        if self.sources.is_empty() {
            std::fs::create_dir_all(&own).with_context(|| format!("cannot make {}", own.display()))?;
            for (name, text) in SOURCES {
                let file = own.join(name);
                std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
                files.push(file);
            }
        }
        if files.is_empty() {
            return Err(Failure::usage("no Java sources: name a directory that has some with --sources"));
        }
        files.sort();
        let mut run: Vec<OsString> =
            ["run", "--exact", "-o", "demo.quipu", "--", "java", "-m"].map(Into::into).into();
        run.extend(
            ["jdk.compiler/com.sun.tools.javac.Main", "-proc:none", "-nowarn", "-implicit:none", "-d"]
                .map(Into::into),
        );
        run.push(classes.into());
        run.extend(
            ["-source", "8", "-target", "8", "-Xlint:-options", "-XDignore.symbol.file"].map(Into::into),
        );
        run.extend(files.into_iter().map(Into::into));
        quipu(run, "quipu run --exact -o demo.quipu -- java -m jdk.compiler/com.sun.tools.javac.Main …")?;
        for words in [
            "report demo.quipu --by method --thread main --limit 12",
            "report demo.quipu --by tree --thread main --limit 30",
            "export demo.quipu --to html -o demo.html",
        ] {
            quipu(words.split(' ').map(Into::into).collect(), &format!("quipu {words}"))?;
        }
        eprintln!("\nOpen demo.html in a browser; the profile itself is demo.quipu.");
        Ok(DONE)
    }
}

fn quipu(words: Vec<OsString>, shown: &str) -> anyhow::Result<()> {
    eprintln!("\n$ {shown}");
    let cli = Cli::try_parse_from(std::iter::once("quipu".into()).chain(words))?;
    match crate::dispatch(cli.command)? {
        DONE => Ok(()),
        status => Err(Failure::target(format!("the demo's target ended with status {status}"))),
    }
}

fn java_files(directory: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = std::fs::read_dir(directory)
        .map_err(|e| Failure::usage(format!("cannot read {}: {e}", directory.display())))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            java_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "java") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sources_come_with_the_command() {
        let mut files = Vec::new();
        for directory in ["api", "examples"] {
            java_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../java").join(directory), &mut files)
                .unwrap();
        }
        let names = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut there: Vec<String> = files.iter().map(names).collect();
        let mut own: Vec<&str> = SOURCES.iter().map(|(name, _)| *name).collect();
        there.sort();
        own.sort_unstable();
        assert_eq!(own, there);
    }
}
