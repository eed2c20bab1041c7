//! Runs in turns: plain, A, B, plain, A, B, … so that what disturbs the machine disturbs all of them.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::jdk::Jdk;
use crate::launch::{Launch, Product};
use crate::plan::Limit;
use crate::profiler::{Origin, Profiler};
use crate::program::{Program, Split};
use crate::progress::{Beginning, Progress};
use crate::run::{Ending, Order, Run};
use crate::workshop::Workshop;

/// One run with what it was a run of.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// The JDK's release.
    pub jdk: u32,
    /// The program's name.
    pub program: String,
    /// The profiler's name.
    pub profiler: String,
    /// Counted from 0.
    pub round: usize,
    /// What happened.
    pub run: Run,
    /// What the profiler left behind.
    pub product: Product,
    /// What was wrong with the output: the work done was not the work asked for.
    pub wrong: Option<String>,
}

impl Record {
    /// Whether its figures count.
    pub fn is_good(&self) -> bool {
        self.run.ending == Ending::Done && self.wrong.is_none()
    }
}

/// How to run all of it.
pub struct Schedule<'a> {
    /// Where things are made.
    pub workshop: &'a Workshop,
    /// How many rounds.
    pub rounds: usize,
    /// Fewer iterations.
    pub quick: bool,
    /// When a profiled run is stopped.
    pub limit: Limit,
}

/// A profiler with the build of Quipu it uses.
pub type Contender = (Profiler, PathBuf);

impl Schedule<'_> {
    /// All rounds of one program on one JDK. `contenders` begins with plain.
    pub fn program(
        &self,
        (program, jdk): (&Program, &Jdk),
        contenders: &[Contender],
        progress: &mut Progress,
    ) -> anyhow::Result<Vec<Record>> {
        let split = program.split(self.quick);
        let place = self.workshop.made.join("runs").join(format!("jdk{}", jdk.release)).join(&program.name);
        fs::create_dir_all(&place)?;
        let mut launches = Vec::new();
        for (profiler, quipu) in contenders {
            let out = place.join(&profiler.name);
            launches.push((
                profiler,
                Launch::prepare(self.workshop, (program, profiler, jdk), quipu, &out)?,
                out,
            ));
        }
        let mut records: Vec<Record> = Vec::new();
        let mut expected = program.checksum.clone();
        let mut plain_took = Duration::ZERO;
        for round in 0..self.rounds {
            for (profiler, launch, out) in &launches {
                if records.iter().any(|record| record.profiler == profiler.name && !record.is_good()) {
                    continue;
                }
                launch.clear();
                let limit = match profiler.origin {
                    Origin::Plain => Duration::from_secs(1800),
                    _ => self.limit.of(plain_took),
                };
                progress.begin(&Beginning {
                    jdk: jdk.release,
                    program: &program.name,
                    profiler: &profiler.name,
                    round: (round, self.rounds),
                    iterations: split.warmup + split.steady,
                });
                let log = out.with_extension("log");
                let order = Order { command: launch.command(), split, log: &log, limit, late: launch.late() };
                let run = Run::perform(order, |iterations| progress.tick(iterations))?;
                let expect = expected.get_or_insert_with(|| first_checksum(&run));
                let wrong = wrong_output(&run, expect);
                if profiler.origin == Origin::Plain {
                    plain_took = plain_took.max(Duration::from_nanos(run.whole));
                }
                let good = run.ending == Ending::Done && profiler.origin != Origin::Plain;
                let product = if good { launch.product()? } else { Product::default() };
                let record = Record {
                    jdk: jdk.release,
                    program: program.name.clone(),
                    profiler: profiler.name.clone(),
                    round,
                    run,
                    product,
                    wrong,
                };
                progress.end(&record, split);
                let lost = !record.is_good() && profiler.origin == Origin::Plain;
                records.push(record);
                if lost {
                    return Ok(records);
                }
            }
        }
        Ok(records)
    }
}

fn first_checksum(run: &Run) -> String {
    run.iterations.first().map(|iteration| iteration.checksum.clone()).unwrap_or_default()
}

/// Every iteration must come to the same result.
fn wrong_output(run: &Run, expected: &str) -> Option<String> {
    let (at, iteration) =
        run.iterations.iter().enumerate().find(|(_, iteration)| iteration.checksum != expected)?;
    Some(format!("iteration {at} came to {}, which must be {expected}", iteration.checksum))
}

/// The measured iterations of a record, as values.
pub fn steady(record: &Record, split: Split, of: impl Fn(&crate::run::Iteration) -> u64) -> Option<f64> {
    let values: Vec<f64> = record.run.steady(split).iter().map(|iteration| of(iteration) as f64).collect();
    crate::statistics::median(&values)
}
