//! Whose turn it is to have a window: a thread has one for each tick of CPU time that it uses. So threads are in the call graph
//! in proportion to how much they run, and what windows cost is a part of what the program uses, however many threads it has.

use std::collections::HashMap;

use crate::stacks::busy::Ran;

/// Windows that a thread is owed at the most, by a machine that had no time for them.
const MOST: u64 = 4;

/// What threads have used and had no windows for.
#[derive(Default)]
pub struct Turns {
    /// Nanoseconds of CPU time, by the number of the thread.
    used: HashMap<u32, u64>,
}

impl Turns {
    /// The threads whose turn it is, now that these have run. `random` is a number for each of those that
    /// are new, which begin somewhere in a tick: one that ends before its first tick is over has had the chance that it should
    /// have.
    pub fn of(&mut self, ran: &[Ran], tick: u64, mut random: impl FnMut(u32) -> u32) -> Vec<Ran> {
        let tick = tick.max(1);
        let mut due = Vec::new();
        for &thread in ran {
            let begin = || (u64::from(random(thread.id)) * tick) >> 32;
            let sum = self.used.entry(thread.id).or_insert_with(begin);
            *sum = sum.saturating_add(thread.used).min(MOST * tick);
            if *sum >= tick {
                *sum -= tick;
                due.push(thread);
            }
        }
        due
    }

    /// A thread has not run in its turn: it has another one, once it has run again.
    pub fn give_back(&mut self, id: u32, tick: u64) {
        if let Some(sum) = self.used.get_mut(&id) {
            *sum = sum.saturating_add(tick);
        }
    }

    /// Forgets threads that have ended.
    pub fn keep(&mut self, is_there: impl Fn(u32) -> bool) {
        self.used.retain(|&id, _| is_there(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(id: u32, used: u64) -> Ran {
        Ran { id, tid: 7, used }
    }

    /// Turns in so many rounds, of threads that use so much in each.
    fn turns(used: &[u64], rounds: usize, random: u32) -> Vec<usize> {
        let mut turns = Turns::default();
        let mut had = vec![0; used.len()];
        for _ in 0..rounds {
            let all: Vec<Ran> = (0..).zip(used).map(|(id, &used)| ran(id, used)).collect();
            for thread in turns.of(&all, 50, |_| random) {
                had[thread.id as usize] += 1;
            }
        }
        had
    }

    #[test]
    fn threads_have_turns_by_how_much_they_run() {
        assert_eq!(turns(&[50, 25, 5, 1], 1_000, 0), [1_000, 500, 100, 20]);
        // Several ticks in one round are made up for, not all of them.
        let mut turns = Turns::default();
        assert_eq!(turns.of(&[ran(1, 1_000)], 50, |_| 0), [ran(1, 1_000)]);
        let mut more = || (0..10).map(|_| turns.of(&[ran(1, 1)], 50, |_| 0).len()).sum::<usize>();
        assert_eq!(more() as u64, MOST - 1);
        // One that had come to nothing.
        assert_eq!(more(), 0);
        turns.give_back(1, 50);
        assert_eq!(turns.of(&[ran(1, 1)], 50, |_| 0).len(), 1);
    }

    #[test]
    fn threads_that_hardly_live_have_the_turns_of_those_that_do() {
        let mut turns = Turns::default();
        let mut had = 0;
        for id in 0..1_000 {
            had += turns.of(&[ran(id, 5)], 50, |id| id * (u32::MAX / 1_000)).len();
            turns.keep(|other| other > id);
        }
        assert!((98..=102).contains(&had) && turns.used.is_empty(), "{had}");
    }
}
