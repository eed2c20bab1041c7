//! Which samples, events and objects of an arena belong to a profile.

use std::collections::{HashMap, HashSet};

use quipu_arena::layout::CAUSES;
use quipu_arena::reader::Contents;
use quipu_arena::sampled::{Event, Sample, Watched};

use super::facts;
use super::places::published;

/// What samplers had seen at one moment.
#[derive(Debug, Default)]
pub struct Before {
    /// Where the last sample and the last event are.
    at: u64,
    event_at: u64,
    /// The latest time that was told, by a sample or by the engine.
    time: u64,
    walks: u64,
    lost: [u64; CAUSES.len()],
}

impl Before {
    /// What an arena has so far.
    pub fn of(contents: &Contents<'_>) -> Before {
        let samples = contents.sampled.samples.iter().map(|sample| sample.time);
        Before {
            at: contents.sampled.samples.iter().map(|sample| sample.at).max().unwrap_or(0),
            event_at: contents.sampled.events.iter().map(|event| event.at).max().unwrap_or(0),
            time: samples.chain(beginnings(contents)).max().unwrap_or(0),
            walks: contents.header.walks,
            lost: contents.header.lost,
        }
    }
}

/// The samples of this profile.
pub struct Taken<'c> {
    contents: &'c Contents<'c>,
    samples: Vec<&'c Sample>,
    pub(super) events: Vec<&'c Event>,
    /// Objects that have survived and are there: other than samples, not since a moment, but now.
    pub(super) objects: Vec<&'c Watched>,
    /// When sampling began, if it began in this profile.
    began: Option<u64>,
    pub(super) walks: u64,
    pub(super) lost: Vec<(&'static str, u64)>,
}

impl<'c> Taken<'c> {
    /// Those after `before`, if given.
    pub fn of(contents: &'c Contents<'c>, before: Option<&Before>) -> Taken<'c> {
        let none = Before::default();
        let before = before.unwrap_or(&none);
        let lost = CAUSES.iter().zip(contents.header.lost).zip(before.lost);
        // One that was on its way when the profile began belongs to the one before.
        let of_this = |sample: &&Sample| sample.at > before.at && sample.time >= contents.began();
        let event_of_this = |event: &&Event| event.at > before.event_at && event.time >= contents.began();
        Taken {
            contents,
            samples: contents.sampled.samples.iter().filter(of_this).collect(),
            events: contents.sampled.events.iter().filter(event_of_this).collect(),
            objects: contents.sampled.objects.iter().filter(|object| object.age > 0).collect(),
            began: beginnings(contents).filter(|&time| time > before.time).min(),
            walks: contents.header.walks.saturating_sub(before.walks),
            lost: lost
                .filter(|((_, now), then)| now > then)
                .map(|((c, now), then)| (*c, now - then))
                .collect(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty() && self.objects.is_empty()
    }

    /// Whether sampling did not even begin.
    pub(super) fn is_nothing(&self) -> bool {
        self.began.is_none() && self.samples.is_empty() && self.events.is_empty()
    }

    /// The moment that is time 0 of the profile, as far as there are times in it.
    pub(super) fn base(&self) -> u64 {
        let times = self.samples.iter().map(|sample| sample.time);
        let first = times.chain(self.events.iter().map(|event| event.time)).min();
        self.began.into_iter().chain(first).min().unwrap_or(0)
    }

    /// Samples, with those that stand for nothing by themselves added to what they go on with: a thread that was woken in vain goes on
    /// to wait for the same.
    pub(super) fn whole(&self) -> Vec<Sample> {
        let mut whole: Vec<Sample> = Vec::with_capacity(self.samples.len());
        // Only what has such parts is kept in mind.
        let goes_on: HashSet<u32> =
            self.samples.iter().filter(|sample| sample.count == 0).map(|sample| sample.metric).collect();
        let mut last: HashMap<(u32, u32, u32), usize> = HashMap::new();
        for &&sample in &self.samples {
            let key = (sample.thread, sample.metric, sample.detail);
            let before = last.get(&key).filter(|_| sample.count == 0).and_then(|&at| whole.get_mut(at));
            if let Some(before) = before {
                before.value = before.value.saturating_add(sample.value);
                continue;
            }
            if goes_on.contains(&sample.metric) {
                last.insert(key, whole.len());
            }
            whole.push(sample);
        }
        whole
    }

    fn all_samples(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter().copied().chain(self.objects.iter().map(|object| &object.made))
    }

    /// Ids of the threads that have samples of their own, apart from those in contexts that were published.
    pub fn threads(&self) -> HashSet<u32> {
        let of_events = self.events.iter().map(|event| event.thread).filter(|&thread| thread != 0);
        self.all_samples().map(|sample| sample.thread).chain(of_events).collect()
    }

    /// Slots that threads had published when they were sampled; some of them many times.
    pub fn published(&self) -> impl Iterator<Item = u64> + '_ {
        let contexts = self.all_samples().map(|sample| sample.context);
        let of_events = self.events.iter().filter_map(|event| event.context);
        contexts.chain(of_events).filter_map(|context| Some(published(self.contents, context)?.slot))
    }
}

/// When sampling was begun, each time, on the target's clock.
fn beginnings(contents: &Contents<'_>) -> impl Iterator<Item = u64> {
    facts(contents, "began").into_iter().filter_map(|time| time.parse().ok())
}
