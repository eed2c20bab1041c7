//! Single runs for measurements that are not ratios of interleaved rounds: accuracy and scale.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use quipu_profile::Profile;

use crate::jdk::Jdk;
use crate::launch::{Launch, Product};
use crate::profiler::{Origin, Profiler};
use crate::program::{Program, Split};
use crate::run::{Ending, Order, Run};
use crate::statistics::median;
use crate::workshop::Workshop;

/// Where measurements are made.
pub struct Laboratory {
    /// The repository.
    pub root: PathBuf,
    /// What runs need.
    pub workshop: Workshop,
    /// The JDK they run on.
    pub jdk: Jdk,
    quipu: PathBuf,
    place: PathBuf,
}

/// What a run gave.
pub struct Outcome {
    /// The run itself.
    pub run: Run,
    /// Milliseconds of an iteration: the median of the second half of them.
    pub wall: f64,
    /// … of CPU time.
    pub cpu: f64,
    /// What the profiler left behind.
    pub product: Product,
    /// The file it wrote, without its extension.
    pub out: PathBuf,
}

impl Outcome {
    /// The profile, if it was Quipu's.
    pub fn profile(&self) -> anyhow::Result<Profile> {
        Ok(Profile::load(self.out.with_extension("quipu"))?)
    }
}

impl Laboratory {
    /// In the current directory, which is the repository's, with a copy of its release build.
    pub fn open(jdk: Option<&str>, name: &str) -> anyhow::Result<Laboratory> {
        let root = std::env::current_dir()?;
        let workshop = Workshop { sources: root.join("bench"), made: root.join("target/bench") };
        let wanted: Vec<String> = jdk.map(str::to_owned).into_iter().collect();
        let jdk = Jdk::wanted(&wanted)?.remove(0);
        let quipu = workshop.build("this", &root.join("target/release"))?;
        let place = workshop.made.join(name);
        fs::create_dir_all(&place)?;
        Ok(Laboratory { root, workshop, jdk, quipu, place })
    }

    /// Runs a program for so many iterations; `arguments` go to the program.
    pub fn run(
        &self,
        program: &Program,
        profiler: &Profiler,
        iterations: usize,
        arguments: &[String],
    ) -> anyhow::Result<Outcome> {
        let out = self.place.join(&profiler.name);
        let launch = Launch::prepare(&self.workshop, (program, profiler, &self.jdk), &self.quipu, &out)?;
        launch.clear();
        let mut command = launch.command();
        command.args(arguments);
        let order = Order {
            late: None,
            command,
            split: Split { warmup: 0, steady: iterations, most: 0 },
            log: &out.with_extension("log"),
            limit: Duration::from_secs(600),
        };
        let run = Run::perform(order, |_| ())?;
        if let Ending::Failed(why) | Ending::Stopped(why) = &run.ending {
            bail!("{} under {}: {why}", program.name, profiler.name);
        }
        let steady = &run.iterations[iterations / 2..];
        let middle = |of: fn(&crate::run::Iteration) -> u64| {
            median(&steady.iter().map(|it| of(it) as f64 / 1e6).collect::<Vec<_>>()).unwrap_or(0.0)
        };
        let (wall, cpu) = (middle(|it| it.wall), middle(|it| it.cpu));
        let product = if profiler.origin == Origin::Plain { Product::default() } else { launch.product()? };
        Ok(Outcome { run, wall, cpu, product, out })
    }

    /// A program of the suite.
    pub fn program(&self, name: &str) -> anyhow::Result<Program> {
        match Program::load_all(&self.workshop.sources.join("programs"))?.remove(name) {
            Some(program) => Ok(program),
            None => bail!("there is no program {name}"),
        }
    }

    /// Weights of opcodes on this machine with this JVM, in a file.
    pub fn calibrate(&self) -> anyhow::Result<String> {
        let file = self.place.join("weights.txt").display().to_string();
        let mut calibrate = std::process::Command::new(&self.quipu);
        calibrate.args(["calibrate", "-o", &file, "--java"]).arg(self.jdk.tool("java"));
        if !calibrate.status()?.success() {
            bail!("quipu calibrate failed");
        }
        Ok(file)
    }

    /// Quipu with some options.
    pub fn kind(&self, label: &str, options: &[&str]) -> Profiler {
        Profiler {
            name: label.to_owned(),
            quipu: options.iter().map(|&option| option.to_owned()).collect(),
            origin: Origin::Kind,
            ..Profiler::default()
        }
    }

    /// The command that is measured.
    pub fn quipu(&self) -> &Path {
        &self.quipu
    }

    /// The directory of a part of the repository.
    pub fn at(&self, part: &str) -> PathBuf {
        self.root.join(part)
    }
}

impl Drop for Laboratory {
    fn drop(&mut self) {
        // The copy of the build was for these runs only.
        let _ = self.quipu.parent().map(fs::remove_dir_all);
    }
}

/// Reads what earlier measurements left, if anything.
pub fn remembered<T: serde::de::DeserializeOwned + Default>(file: &Path) -> T {
    fs::read_to_string(file).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Leaves measurements for later ones.
pub fn remember<T: serde::Serialize>(file: &Path, all: &T) -> anyhow::Result<()> {
    Ok(fs::write(file, serde_json::to_string_pretty(all)? + "\n")?)
}
