//! The command line for a program under a profiler, and what the profiler left behind.

use std::ffi::OsString;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use quipu_profile::Profile;
use serde::Serialize;

use crate::classes;
use crate::jdk::Jdk;
use crate::late::Late;
use crate::profiler::{Origin, Profiler};
use crate::program::Program;
use crate::workshop::Workshop;

/// The system takes arguments of up to 128 KiB.
const LONGEST: usize = 100_000;

/// A program under a profiler on a JDK, ready to be started any number of times.
pub struct Launch {
    words: Vec<OsString>,
    answer: Vec<String>,
    keep: Vec<String>,
    writes: PathBuf,
    is_quipu: bool,
    late: Option<Late>,
}

/// What a profiler left behind.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Product {
    /// Bytes of the file it wrote.
    pub size: u64,
    /// Calling contexts in it.
    pub contexts: Option<u64>,
    /// Calls in it.
    pub calls: Option<u64>,
    /// Samples in it.
    pub samples: Option<u64>,
    /// Bytecodes in it.
    pub bytecodes: Option<u64>,
    /// What it says it lost, by cause.
    pub lost: Vec<(String, u64)>,
    /// What a peer's own tool says is in it.
    pub answer: Vec<String>,
}

impl Product {
    /// Takes `calls 12` and the like out of what a peer's tool printed.
    fn answered(lines: Vec<String>) -> Product {
        let mut product = Product::default();
        for line in lines {
            let number =
                line.split_once(' ').and_then(|(what, n)| Some((what, n.parse::<f64>().ok()? as u64)));
            match number {
                Some(("calls", n)) => product.calls = Some(n),
                Some(("contexts", n)) => product.contexts = Some(n),
                Some(("samples", n)) => product.samples = Some(n),
                Some(("lost", n)) => product.lost.push(("samples".to_owned(), n)),
                _ => product.answer.push(line),
            }
        }
        product
    }
}

impl Launch {
    /// Gets ready: archives, classes, options. `out` is where the profiler writes to, without an extension; `quipu`
    /// the build to use for a kind.
    pub fn prepare(
        workshop: &Workshop,
        (program, profiler, jdk): (&Program, &Profiler, &Jdk),
        quipu: &Path,
        out: &Path,
    ) -> anyhow::Result<Launch> {
        let lib = workshop.archives(&profiler.maven)?.unwrap_or_default();
        let unpacked = match &profiler.unpack {
            Some(name) => workshop.unpacked(&lib, name, jdk)?,
            None => PathBuf::new(),
        };
        let class_path = workshop.class_path(program, jdk)?;
        let wants_classes = profiler.jvm.iter().any(|option| option.contains("{classes}"));
        let classes = if wants_classes {
            classes::of_package(&program.package, &class_path, jdk)?.join(";")
        } else {
            String::new()
        };
        let debian = workshop.packages(&profiler.debian)?.unwrap_or_default();
        let port = free_port()?.to_string();
        let fill = |text: &String| {
            text.replace("{classes}", &classes)
                .replace("{out}", &out.to_string_lossy())
                .replace("{package}", &program.package)
                .replace("{jdk}", &jdk.home.to_string_lossy())
                .replace("{release}", &jdk.release.to_string())
                .replace("{main}", &program.main)
                .replace("{port}", &port)
                .replace("{bench}", &workshop.sources.to_string_lossy())
                .replace("{debian}", &debian.to_string_lossy())
                .replace("{lib}", &lib.to_string_lossy())
                .replace("{unpacked}", &unpacked.to_string_lossy())
        };
        let writes = match profiler.origin {
            Origin::Kind => out.with_extension("quipu"),
            _ => PathBuf::from(fill(&format!("{{out}}{}", profiler.writes))),
        };
        let mut words: Vec<OsString> = Vec::new();
        let mut late = None;
        if profiler.origin == Origin::Kind {
            let mut options: Vec<OsString> =
                profiler.quipu.iter().map(|option| fill(option).into()).collect();
            options.extend(["-o".into(), writes.clone().into()]);
            match profiler.attach {
                Some(after) => {
                    late = Some(Late { after, command: vec![quipu.into(), "attach".into()], options });
                }
                None => {
                    words.extend([quipu.into(), "run".into()]);
                    words.extend(options);
                    words.push("--".into());
                }
            }
        }
        words.extend(profiler.wrap.iter().map(|word| fill(word).into()));
        words.push(jdk.tool("java").into());
        words.extend(program.jvm.iter().map(OsString::from));
        for option in profiler.jvm.iter().map(fill) {
            words.push(if option.len() < LONGEST { option.into() } else { argument_file(out, &option)? });
        }
        words.extend(["-cp".into(), class_path, program.main.clone().into()]);
        let (answer, keep) = match &profiler.answer {
            Some(answer) => (answer.command.iter().map(fill).collect(), answer.lines.clone()),
            None => Default::default(),
        };
        Ok(Launch { words, answer, keep, writes, is_quipu: profiler.origin == Origin::Kind, late })
    }

    /// The command.
    pub fn command(&self) -> Command {
        let mut words = self.words.iter();
        let mut command = Command::new(words.next().map(OsString::as_os_str).unwrap_or_default());
        command.args(words);
        command
    }

    /// What attaches to the command's process, unless it is a profiler that is there from the start.
    pub fn late(&self) -> Option<&Late> {
        self.late.as_ref()
    }

    /// Removes what an earlier run wrote, so that a run that writes nothing is seen to.
    pub fn clear(&self) {
        // Nothing there is what is wanted.
        let _ = fs::remove_file(&self.writes);
    }

    /// What the last run left behind.
    pub fn product(&self) -> anyhow::Result<Product> {
        let size = fs::metadata(&self.writes).map(|data| data.len()).unwrap_or(0);
        if !self.is_quipu {
            return Ok(Product { size, ..Product::answered(self.answered()) });
        }
        let profile = Profile::load(&self.writes)
            .with_context(|| format!("cannot read the profile {}", self.writes.display()))?;
        let total = |name| profile.metric(name).map(|metric| metric.total());
        Ok(Product {
            size,
            contexts: Some((profile.tree().len() - profile.threads().len()) as u64),
            calls: total("calls"),
            bytecodes: total("bytecodes"),
            samples: match profile.samples().len() as u64 {
                0 => total("samples.bytecodes"),
                samples => Some(samples),
            },
            lost: profile.meta.lost.iter().map(|(cause, n)| (cause.clone(), *n)).collect(),
            answer: Vec::new(),
        })
    }

    /// What the peer's own tool prints of what it found, or why it prints nothing.
    fn answered(&self) -> Vec<String> {
        let Some((program, arguments)) = self.answer.split_first() else { return Vec::new() };
        let output = match Command::new(program).args(arguments).output() {
            Ok(output) => output,
            Err(error) => return vec![format!("{program}: {error}")],
        };
        let text = String::from_utf8_lossy(&output.stdout);
        let kept: Vec<String> = text
            .lines()
            .filter(|line| self.keep.is_empty() || self.keep.iter().any(|word| line.contains(word)))
            .take(8)
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        if kept.is_empty() {
            let errors = String::from_utf8_lossy(&output.stderr);
            return errors.lines().take(2).map(str::to_owned).collect();
        }
        kept
    }
}

/// A port that nobody listens on, nor on the one after it.
fn free_port() -> anyhow::Result<u16> {
    for _ in 0..100 {
        let first = TcpListener::bind(("127.0.0.1", 0))?;
        let port = first.local_addr()?.port();
        if port < u16::MAX && TcpListener::bind(("127.0.0.1", port + 1)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no two free ports in a row")
}

/// An option that is too long for a command line, in a file the launcher reads.
fn argument_file(out: &Path, option: &str) -> anyhow::Result<OsString> {
    let path = out.with_extension("arguments");
    fs::write(&path, format!("\"{}\"\n", option.replace('\\', "\\\\").replace('"', "\\\"")))?;
    let mut word = OsString::from("@");
    word.push(path);
    Ok(word)
}

#[cfg(test)]
mod tests {
    use super::Product;

    #[test]
    fn counts_are_taken_out_of_an_answer() {
        let lines = ["calls 1e+06", "contexts 7", "no samples at all"].map(str::to_owned).to_vec();
        let product = Product::answered(lines);
        assert_eq!((product.calls, product.contexts, product.samples), (Some(1_000_000), Some(7), None));
        assert_eq!(product.answer, ["no samples at all"]);
    }
}
