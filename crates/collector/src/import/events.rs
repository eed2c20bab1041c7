//! Kinds of events of the timeline, as the arena declares them.

use std::collections::HashMap;

use quipu_arena::reader::Contents;
use quipu_arena::record::Record;
use quipu_arena::sampled::Event;
use quipu_classfile::mutf8;

/// A kind of event.
#[derive(Debug, Clone)]
pub struct EventKind {
    /// Its name: `gc.pause`.
    pub name: String,
    /// What its two numbers are called; empty for one that it does not have.
    values: [String; 2],
}

impl EventKind {
    /// Those of this profile, by number.
    pub fn read(contents: &Contents<'_>) -> HashMap<u32, EventKind> {
        let told = contents.of_this_profile().iter().filter_map(|record| match *record {
            Record::EventKind { id, name, values } => {
                Some((id, EventKind { name: mutf8::decode(name), values: values.map(mutf8::decode) }))
            }
            _ => None,
        });
        told.collect()
    }

    /// What is told of an event: its numbers by name, and what it was about.
    pub fn details(&self, event: &Event, about: Option<&str>) -> Vec<(String, String)> {
        let values = self.values.iter().zip(event.values);
        let numbers =
            values.filter(|(name, _)| !name.is_empty()).map(|(name, n)| (name.clone(), n.to_string()));
        numbers.chain(about.map(|about| ("what".to_owned(), about.to_owned()))).collect()
    }
}
