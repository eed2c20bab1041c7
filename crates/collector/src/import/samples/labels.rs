//! Sets of labels: each is made of another one and a label.

use std::collections::{BTreeMap, HashMap};

use quipu_arena::reader::Contents;
use quipu_arena::record::Record;
use quipu_profile::{Builder, LabelsId, NO_LABELS};

use crate::import::budget::Budget;

/// The sets that the target told of.
pub struct Labels {
    /// By number: what each adds to which.
    told: HashMap<u32, (u32, String, String)>,
    /// The profile's numbers of them.
    known: HashMap<u32, LabelsId>,
}

impl Labels {
    /// Those of an arena.
    pub fn read(contents: &Contents<'_>) -> Labels {
        let told = contents.records.iter().filter_map(|record| match *record {
            Record::SampledLabel { set, before, key, value } => {
                let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
                Some((set, (before, text(key), text(value))))
            }
            _ => None,
        });
        Labels { told: told.collect(), known: HashMap::new() }
    }

    /// The profile's number of a set.
    pub fn number(&mut self, builder: &mut Builder, set: u32, budget: &mut Budget) -> LabelsId {
        if set == 0 {
            return NO_LABELS;
        }
        if let Some(&labels) = self.known.get(&set) {
            return labels;
        }
        let mut pairs = BTreeMap::new();
        let mut at = set;
        // Each is made of one with a smaller number; the label added last counts.
        while let Some((before, key, value)) = self.told.get(&at) {
            if !budget.take() {
                budget.refuse();
                break;
            }
            pairs.entry(key.as_str()).or_insert(value.as_str());
            if *before >= at {
                break;
            }
            at = *before;
        }
        let pairs: Vec<(&str, &str)> = pairs.into_iter().collect();
        let labels = builder.labels(&pairs);
        self.known.insert(set, labels);
        labels
    }
}
