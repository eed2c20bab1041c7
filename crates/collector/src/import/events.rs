//! Kinds of events of the timeline, as the arena declares them.

use std::collections::HashMap;

use quipu_arena::reader::Contents;
use quipu_arena::record::Record;
use quipu_arena::sampled::Event;
use quipu_classfile::mutf8;

use super::details::Details;

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

    /// What is told of an event: its numbers by name, and what it was about. A number whose name begins with `@` is that of
    /// something that was told, as what an event is about is.
    pub fn details(&self, event: &Event, details: &Details) -> Vec<(String, String)> {
        let values = self.values.iter().zip(event.values);
        let told = values.filter(|(name, _)| !name.is_empty()).filter_map(|(name, n)| {
            match name.strip_prefix('@') {
                None => Some((name.clone(), n.to_string())),
                Some(name) => Some((name.to_owned(), details.text(u32::try_from(n).ok()?)?)),
            }
        });
        told.chain(details.text(event.detail).map(|about| ("what".to_owned(), about))).collect()
    }
}
