//! From runs to one row per program and profiler.

use serde::Serialize;

use crate::launch::Product;
use crate::profiler::{Origin, Profiler};
use crate::program::Split;
use crate::run::{Ending, Iteration};
use crate::schedule::{Record, steady};
use crate::statistics::{self, Estimate, USUAL, estimate, median, ratios};

/// One program under one profiler on one JDK, all rounds together.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The JDK's release.
    pub jdk: u32,
    /// The program's name.
    pub program: String,
    /// The profiler's name.
    pub profiler: String,
    /// The question it answers.
    pub question: String,
    /// Whose it is.
    pub origin: Origin,
    /// Ratios of steady elapsed time.
    pub wall: Option<Estimate>,
    /// … of steady CPU time of the whole process.
    pub cpu: Option<Estimate>,
    /// … of steady CPU time without the JIT compiler's threads: the program's own work and the collector's.
    pub work: Option<Estimate>,
    /// … of the time to the end of the first iteration.
    pub startup: Option<Estimate>,
    /// … of the time of the whole command.
    pub whole: Option<Estimate>,
    /// … of peak memory.
    pub memory: Option<Estimate>,
    /// Nanoseconds of a steady iteration without a profiler, median over rounds.
    pub plain_wall: Option<f64>,
    /// Bytes at the peak, without and with the profiler.
    pub peak: (u64, u64),
    /// Resident bytes of the profile after the last iteration.
    pub arena: u64,
    /// Bytes at the peak of the profiler's own process, if that is more than the JVM's.
    pub collector_peak: Option<u64>,
    /// Which part of the steady CPU time the JIT compiler took without and with the profiler: more than a few percent
    /// is not a steady state.
    pub compiling: (Option<f64>, Option<f64>),
    /// What the profiler wrote, last round.
    pub product: Product,
    /// What went wrong, if anything did.
    pub failure: Option<String>,
    /// Whether that was wrong output.
    pub wrong: bool,
    /// Whether it was stopped because it took too long.
    pub stopped: bool,
    /// The per-round ratios behind `wall`, `cpu` and `work`.
    pub per_round: [Vec<f64>; 3],
}

impl Row {
    /// The row of one profiler; `records` are those of one program on one JDK.
    pub fn of(records: &[Record], profiler: &Profiler, split: Split) -> Row {
        let of =
            |name: &str| records.iter().filter(move |record| record.profiler == name).collect::<Vec<_>>();
        let (plain, profiled) = (of("plain"), of(&profiler.name));
        let first = records.first();
        let compare = |value: &dyn Fn(&Record) -> Option<f64>| {
            let good = |records: &[&Record]| -> Vec<Option<f64>> {
                records.iter().map(|record| if record.is_good() { value(record) } else { None }).collect()
            };
            ratios(&good(&profiled), &good(&plain))
        };
        let measured = |part: fn(&Iteration) -> u64| compare(&move |record| steady(record, split, part));
        let per_round = [
            measured(|iteration| iteration.wall),
            measured(|iteration| iteration.cpu),
            measured(|iteration| iteration.cpu.saturating_sub(iteration.jit)),
        ];
        let whole_run = |value: fn(&Record) -> Option<f64>| estimate(&compare(&value), USUAL);
        let peaks = |records: &[&Record]| records.iter().map(|record| record.run.peak).max().unwrap_or(0);
        let plain_walls: Vec<f64> =
            plain.iter().filter_map(|record| steady(record, split, |iteration| iteration.wall)).collect();
        let failed = profiled.iter().find(|record| !record.is_good());
        Row {
            jdk: first.map_or(0, |record| record.jdk),
            program: first.map_or_else(String::new, |record| record.program.clone()),
            profiler: profiler.name.clone(),
            question: profiler.question.clone(),
            origin: profiler.origin,
            wall: estimate(&per_round[0], USUAL),
            cpu: estimate(&per_round[1], USUAL),
            work: estimate(&per_round[2], USUAL),
            startup: whole_run(|record| record.run.startup.map(|nanos| nanos as f64)),
            whole: whole_run(|record| Some(record.run.whole as f64)),
            memory: whole_run(|record| Some(record.run.peak as f64)),
            plain_wall: median(&plain_walls),
            peak: (peaks(&plain), peaks(&profiled)),
            arena: profiled.iter().map(|record| record.run.arena).max().unwrap_or(0),
            collector_peak: profiled
                .iter()
                .map(|r| r.run.peak_any)
                .max()
                .filter(|any| *any > peaks(&profiled)),
            compiling: (compiling(&plain, split), compiling(&profiled, split)),
            product: profiled.last().map(|record| record.product.clone()).unwrap_or_default(),
            failure: failed.map(|record| failure(record, &plain)),
            wrong: failed.is_some_and(|record| record.wrong.is_some()),
            stopped: failed.is_some_and(|record| matches!(record.run.ending, Ending::Stopped(_))),
            per_round,
        }
    }

    /// Which of the estimates to take geometric means of.
    fn rounds(&self, which: usize) -> &[f64] {
        &self.per_round[which]
    }
}

/// The geometric mean over programs of wall, CPU and work, taken in each round; of rows of one profiler.
pub fn geometric_means(rows: &[&Row]) -> [Option<Estimate>; 3] {
    [0, 1, 2].map(|which| {
        let rounds = rows.iter().map(|row| row.rounds(which).len()).min().unwrap_or(0);
        let means: Vec<f64> = (0..rounds)
            .filter_map(|round| {
                statistics::geometric_mean(
                    &rows.iter().map(|row| row.rounds(which)[round]).collect::<Vec<_>>(),
                )
            })
            .collect();
        estimate(&means, USUAL)
    })
}

fn compiling(records: &[&Record], split: Split) -> Option<f64> {
    let sum = |part: fn(&Iteration) -> u64| -> u64 {
        records.iter().flat_map(|record| record.run.steady(split)).map(part).sum()
    };
    let all = sum(|iteration| iteration.cpu);
    (all > 0).then(|| sum(|iteration| iteration.jit) as f64 / all as f64)
}

/// What went wrong, with how slow it was at least if it had to be stopped.
fn failure(record: &Record, plain: &[&Record]) -> String {
    if let Some(wrong) = &record.wrong {
        return format!("WRONG OUTPUT: {wrong}");
    }
    let text = match &record.run.ending {
        Ending::Done => return String::new(),
        Ending::Stopped(why) | Ending::Failed(why) => why.clone(),
    };
    let done = record.run.iterations.len();
    let Some(plain) = plain.iter().find(|plain| plain.round == record.round) else { return text };
    if done == 0 || !matches!(record.run.ending, Ending::Stopped(_)) {
        return text;
    }
    let wall =
        |record: &Record| record.run.iterations.iter().take(done).map(|it| it.wall).sum::<u64>() as f64;
    format!("{text}; these took {:.0} times as long as without it", wall(record) / wall(plain))
}
