//! `quipu demo`: the main job on something every machine with a JDK has.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, Parser};

use crate::Cli;
use crate::exit::{DONE, Failure};

/// Profile `javac` compiling Quipu's own Java sources, show what it did and write demo.html.
#[derive(Args, Debug)]
pub struct Demo {
    /// Directories with Java sources
    #[arg(long, value_name = "DIR", num_args = 1.., default_values = ["java/api", "java/examples"])]
    sources: Vec<PathBuf>,
}

impl Demo {
    /// Runs the commands a person would type, and shows them.
    pub fn run(self) -> anyhow::Result<u8> {
        let mut files = Vec::new();
        for directory in &self.sources {
            java_files(directory, &mut files)?;
        }
        if files.is_empty() {
            return Err(Failure::usage("no Java sources: name a directory that has some with --sources"));
        }
        files.sort();
        let classes = std::env::temp_dir().join(format!("quipu-demo-{}", std::process::id()));
        let mut run: Vec<OsString> =
            ["run", "--exact", "-o", "demo.quipu", "--", "java", "-m"].map(Into::into).into();
        run.extend(
            ["jdk.compiler/com.sun.tools.javac.Main", "-proc:none", "-nowarn", "-implicit:none", "-d"]
                .map(Into::into),
        );
        run.push(classes.clone().into());
        run.extend(
            ["-source", "8", "-target", "8", "-Xlint:-options", "-XDignore.symbol.file"].map(Into::into),
        );
        run.extend(files.into_iter().map(Into::into));
        let compiled =
            quipu(run, "quipu run --exact -o demo.quipu -- java -m jdk.compiler/com.sun.tools.javac.Main …");
        let _ = std::fs::remove_dir_all(&classes);
        compiled?;
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
