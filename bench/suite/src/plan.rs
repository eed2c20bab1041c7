//! Which runs are made, in how many rounds, and how long that will take.
//!
//! With a limit of time the most wanted runs are planned first: every profiler, variants excepted, with two programs
//! that stand for the others, on the first JDK that it works on, and exact counts with these on all JDKs; exact counts
//! with all programs on the first JDK;
//! exact counts with a few more such programs on the other JDKs; every profiler with those; exact counts everywhere;
//! the rest. What does not fit is left out and said to be.

use std::time::Duration;

use crate::history::History;
use crate::jdk::Jdk;
use crate::program::Program;
use crate::schedule::Contender;

/// Programs that stand for the others where there is no time for all: a data base, a parser, a compiler, a server. The
/// first two are those that every profiler is tried with.
const REPRESENTATIVE: [&str; 4] = ["h2-oltp", "jackson", "javac", "tomcat"];
const FIRST: usize = 2;

/// Fewer rounds say too little.
const LEAST_ROUNDS: usize = 3;

/// More rounds than this make intervals hardly narrower.
const MOST_ROUNDS: usize = 11;

/// All rounds of one program on one JDK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Position of the JDK.
    pub jdk: usize,
    /// Position of the program.
    pub program: usize,
    /// Positions of the contenders; the first is plain.
    pub contenders: Vec<usize>,
}

/// What is run.
#[derive(Debug)]
pub struct Plan {
    /// JDK by JDK, program by program.
    pub groups: Vec<Group>,
    /// How often each is run.
    pub rounds: usize,
    /// Programs under profilers that there is no time for.
    pub left_out: usize,
}

/// When a profiled run is stopped.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// After this many times as long as the plain one took …
    pub patience: u32,
    /// … and this long in any case.
    pub least: Duration,
}

impl Limit {
    /// For a plain run that took so long.
    pub fn of(self, plain: Duration) -> Duration {
        (plain * self.patience).max(self.least)
    }
}

/// What there is to choose from.
pub struct Choice<'a> {
    /// JDKs.
    pub jdks: &'a [Jdk],
    /// Programs.
    pub programs: &'a [Program],
    /// Profilers, plain first.
    pub contenders: &'a [Contender],
    /// Fewer iterations.
    pub quick: bool,
    /// What runs took before.
    pub history: &'a History,
    /// When a run is stopped, and not made again.
    pub limit: Limit,
}

impl Choice<'_> {
    /// Everything, in so many rounds.
    pub fn all(&self, rounds: usize) -> Plan {
        let mut plan = Plan { groups: Vec::new(), rounds, left_out: 0 };
        self.cells().into_iter().for_each(|cell| plan.add(cell));
        plan
    }

    /// What fits into a time.
    pub fn within(&self, limit: Duration) -> Plan {
        let limit = limit.as_secs_f64();
        let mut plan = Plan { groups: Vec::new(), rounds: LEAST_ROUNDS, left_out: 0 };
        let mut cells = self.cells();
        cells.sort_by_key(|cell| self.rank(*cell));
        let mut seconds = 0.0;
        for cell @ (jdk, program, _) in cells {
            let begun = plan.groups.iter().any(|group| (group.jdk, group.program) == (jdk, program));
            let plain = if begun { 0.0 } else { self.seconds((jdk, program, 0), plan.rounds) };
            let more = plain + self.seconds(cell, plan.rounds);
            if seconds + more <= limit {
                plan.add(cell);
                seconds += more;
            } else {
                plan.left_out += 1;
            }
        }
        while plan.left_out == 0 && plan.rounds < MOST_ROUNDS {
            plan.rounds += 1;
            if self.expected(&plan) > limit {
                plan.rounds -= 1;
                break;
            }
        }
        plan.groups.sort_by_key(|group| (group.jdk, group.program));
        plan
    }

    /// Seconds that a plan will take.
    pub fn expected(&self, plan: &Plan) -> f64 {
        plan.groups.iter().map(|group| self.expected_of(group, plan.rounds)).sum()
    }

    /// Seconds that one group will take.
    pub fn expected_of(&self, group: &Group, rounds: usize) -> f64 {
        group.contenders.iter().map(|&it| self.seconds((group.jdk, group.program, it), rounds)).sum()
    }

    /// Every profiler with every program on every JDK where both work; where there is no profiler, plain alone.
    fn cells(&self) -> Vec<Cell> {
        let first = usize::from(self.contenders.len() > 1);
        let mut cells = Vec::new();
        for (j, jdk) in self.jdks.iter().enumerate() {
            for (p, _) in self.programs.iter().enumerate().filter(|(_, it)| it.jdk <= jdk.release) {
                let able = self.contenders.iter().enumerate().skip(first);
                cells.extend(able.filter(|(_, (it, _))| it.jdk <= jdk.release).map(|(c, _)| (j, p, c)));
            }
        }
        cells
    }

    fn rank(&self, (jdk, program, contender): Cell) -> u8 {
        let first_kind = self.contenders.iter().position(|(it, _)| it.name == "exact").unwrap_or(1);
        let name = self.programs[program].name.as_str();
        let variant = self.contenders[contender].0.variant;
        let represents = REPRESENTATIVE.iter().position(|it| *it == name);
        let oldest = self.jdks.iter().position(|it| it.release >= self.contenders[contender].0.jdk);
        match (represents, contender == first_kind, oldest == Some(jdk)) {
            (Some(at), _, true) if at < FIRST && !variant => 0,
            (Some(at), true, _) if at < FIRST => 0,
            (_, true, true) => 1,
            (Some(_), true, false) => 2,
            (Some(_), false, true) => 3,
            (_, true, false) => 4,
            (Some(_), false, false) => 5,
            _ => 6,
        }
    }

    fn seconds(&self, (jdk, program, contender): Cell, rounds: usize) -> f64 {
        let program = &self.programs[program];
        let split = program.split(self.quick);
        // Without a limit to the waiting for the JIT compiler it is often waited.
        let wait = if split.most > 0 { 1.5 } else { 1.0 };
        let expect = |profiler: &str| {
            let iterations = split.warmup + split.steady;
            let (seconds, repeats) =
                self.history.expect(self.jdks[jdk].release, &program.name, profiler, iterations);
            (seconds * wait, repeats)
        };
        let (plain, _) = expect(&self.contenders[0].0.name);
        let (seconds, repeats) = expect(&self.contenders[contender].0.name);
        let limit = self.limit.of(Duration::from_secs_f64(plain)).as_secs_f64();
        match contender {
            0 => seconds * rounds as f64,
            _ if seconds < limit && repeats => seconds * rounds as f64,
            _ => seconds.min(limit),
        }
    }
}

/// A JDK, a program and a profiler, by their positions.
type Cell = (usize, usize, usize);

impl Plan {
    fn add(&mut self, (jdk, program, contender): Cell) {
        let at = self.groups.iter().position(|group| (group.jdk, group.program) == (jdk, program));
        let group = match at {
            Some(at) => &mut self.groups[at],
            None => {
                self.groups.push(Group { jdk, program, contenders: vec![0] });
                let last = self.groups.len() - 1;
                &mut self.groups[last]
            }
        };
        if contender != 0 {
            group.contenders.push(contender);
            group.contenders.sort_unstable();
        }
    }

    /// How many runs that makes.
    pub fn runs(&self) -> usize {
        self.groups.iter().map(|group| group.contenders.len() * self.rounds).sum()
    }
}

/// Rounds for the next program if `expected` seconds of runs are planned and `left` seconds are there: fewer if all
/// takes longer than it should.
pub fn rounds_in_time(rounds: usize, expected: f64, left: Option<f64>) -> usize {
    let Some(left) = left else { return rounds };
    let fits = (rounds as f64 * left / expected.max(1.0)).round().max(1.0);
    rounds.min(fits as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiler::Profiler;
    use std::path::{Path, PathBuf};

    const LIMIT: Limit = Limit { patience: 8, least: Duration::from_secs(30) };

    fn named(name: &str, jdk: u32) -> Contender {
        (Profiler { name: name.to_owned(), jdk, ..Profiler::default() }, PathBuf::new())
    }

    fn jdk(release: u32) -> Jdk {
        Jdk { release, version: String::new(), vendor: String::new(), home: PathBuf::new() }
    }

    /// The suite's own programs; nothing is known of their times, so an iteration is half a second.
    fn programs() -> Vec<Program> {
        let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs");
        Program::load_all(&all).unwrap().into_values().collect()
    }

    #[test]
    fn a_plan_keeps_to_its_time_and_prefers_what_is_wanted_most() {
        let (jdks, programs) = ([jdk(17), jdk(25)], programs());
        let contenders = [named("plain", 0), named("cpu", 0), named("exact", 0), named("new", 25)];
        let history = History::default();
        let choice = Choice {
            jdks: &jdks,
            programs: &programs,
            contenders: &contenders,
            quick: true,
            history: &history,
            limit: LIMIT,
        };
        let all = choice.all(3);
        assert_eq!(all.runs(), programs.len() * (3 + 4) * 3);
        let everything = choice.expected(&all);
        let plan = choice.within(Duration::from_secs_f64(everything * 0.6));
        assert!(choice.expected(&plan) <= everything * 0.6 && plan.left_out > 0);
        // `exact` with all programs on the first JDK is there.
        let exact = plan.groups.iter().filter(|group| group.jdk == 0 && group.contenders.contains(&2));
        assert_eq!(exact.count(), programs.len());
        // So is what works on the second JDK only, with the representative programs.
        let new = plan.groups.iter().filter(|group| group.contenders.contains(&3));
        assert!(new.count() >= FIRST);
        // Plain runs come first in every group.
        assert!(plan.groups.iter().all(|group| group.contenders[0] == 0));
    }

    #[test]
    fn rounds_are_left_out_when_time_runs_out() {
        assert_eq!(rounds_in_time(5, 600.0, None), 5);
        assert_eq!(rounds_in_time(5, 600.0, Some(700.0)), 5);
        assert_eq!(rounds_in_time(5, 600.0, Some(360.0)), 3);
        assert_eq!(rounds_in_time(5, 600.0, Some(-10.0)), 1);
    }

    #[test]
    fn time_that_is_left_goes_into_rounds() {
        let (jdks, programs) = ([jdk(17)], programs());
        let contenders = [named("plain", 0), named("exact", 0)];
        let history = History::default();
        let choice = Choice {
            jdks: &jdks,
            programs: &programs,
            contenders: &contenders,
            quick: true,
            history: &history,
            limit: LIMIT,
        };
        let one = choice.expected(&choice.all(1));
        let plan = choice.within(Duration::from_secs_f64(one * 6.5));
        assert_eq!((plan.rounds, plan.left_out), (6, 0));
        assert_eq!(choice.within(Duration::from_secs_f64(one * 100.0)).rounds, MOST_ROUNDS);
    }
}
