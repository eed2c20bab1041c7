//! States of threads over time, made of samples: those of one thread that follow each other, and were in one state, are an interval.

use std::collections::HashMap;

use quipu_arena::sampled::Sample;

/// The event that an interval is, declared with the timeline.
pub const EVENT: &str = "thread.state";

/// Intervals of a profile at the most. A thread that changes its state at each sample has as many as samples.
const MOST: usize = 1 << 18;

/// Samples of a thread that are further apart than so many times what they stand for are not of one interval: the thread was in
/// another state meanwhile, of which there is no sample, or nobody looked.
const APART: u64 = 2;

/// A thread that was in a state for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// One of [`quipu_arena::layout::run_state`].
    pub state: u32,
    pub thread: u32,
    /// Index of the context that it was in first.
    pub context: u32,
    /// On the clock of the samples.
    pub began: u64,
    pub ended: u64,
}

/// The intervals of samples, which stand for the time before them, and how many there were no room for.
pub fn intervals<'s>(samples: impl Iterator<Item = &'s Sample>) -> (Vec<Interval>, u64) {
    let mut last: HashMap<u32, usize> = HashMap::new();
    let (mut intervals, mut beyond) = (Vec::<Interval>::new(), 0);
    for &Sample { time, value, thread, state, context, .. } in samples {
        let began = time.saturating_sub(value);
        let goes_on = |last: &&mut Interval| {
            last.state == state && began.saturating_sub(last.ended) <= APART.saturating_mul(value)
        };
        let before = last.get(&thread).and_then(|&at| intervals.get_mut(at));
        if let Some(before) = before.filter(goes_on) {
            before.ended = before.ended.max(time);
            continue;
        }
        if intervals.len() >= MOST {
            beyond += 1;
            last.remove(&thread);
            continue;
        }
        last.insert(thread, intervals.len());
        intervals.push(Interval { state, thread, context, began, ended: time });
    }
    (intervals, beyond)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quipu_arena::layout::run_state::{BLOCKED, RUNNING};

    fn sample(thread: u32, time: u64, state: u32) -> Sample {
        Sample {
            at: time,
            time,
            value: 10,
            count: 1,
            context: time as u32,
            thread,
            labels: 0,
            metric: 1,
            detail: 0,
            state,
        }
    }

    #[test]
    fn samples_in_one_state_are_one_interval() {
        let samples = [
            sample(1, 100, RUNNING),
            sample(2, 100, BLOCKED),
            sample(1, 110, RUNNING),
            sample(2, 110, BLOCKED),
            sample(1, 121, BLOCKED),
            sample(2, 120, BLOCKED),
            // Somebody looked late, and then not at all.
            sample(1, 150, BLOCKED),
            sample(1, 190, BLOCKED),
        ];
        let (found, beyond) = intervals(samples.iter());
        let found: Vec<_> = found.iter().map(|i| (i.thread, i.state, i.context, i.began, i.ended)).collect();
        assert_eq!(
            found,
            [
                (1, RUNNING, 100, 90, 110),
                (2, BLOCKED, 100, 90, 120),
                (1, BLOCKED, 121, 111, 150),
                (1, BLOCKED, 190, 180, 190)
            ]
        );
        assert_eq!(beyond, 0);
    }

    #[test]
    fn intervals_are_bounded_and_those_beyond_are_counted() {
        let states = [RUNNING, BLOCKED];
        let samples: Vec<Sample> =
            (0..MOST + 10).map(|i| sample(1, 100 + 10 * i as u64, states[i % 2])).collect();
        let (found, beyond) = intervals(samples.iter());
        assert_eq!((found.len(), beyond), (MOST, 10));
    }
}
