//! A JVM that is started for a moment with the agent in it, to see which kinds it can be measured by.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use quipu_arena::place;
use quipu_collector::facts;
use quipu_kinds::{Chosen, KINDS, Kind};

use crate::agent;
use crate::launch::{self, RunDirectory};

/// What came of it.
pub struct Trial {
    facts: Vec<(String, String)>,
    said: String,
}

impl Trial {
    /// Starts a JVM that is measured by some kinds, each with the value that it has if none is given.
    pub fn of(java: &Path, kinds: &[&Kind]) -> anyhow::Result<Trial> {
        let mut chosen = Chosen::default();
        for kind in kinds {
            chosen.set(kind.name(), kind.switch.bare.unwrap_or_default()).map_err(anyhow::Error::msg)?;
        }
        let directory = RunDirectory::new()?;
        let output = Command::new(java)
            .args(launch::agent_flags(&chosen, &agent::run_options(&chosen, &directory.0))?)
            .arg("-version")
            .output()
            .with_context(|| format!("cannot start {}", java.display()))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let arena = fs::read_dir(&directory.0)?
            .flatten()
            .map(|entry| entry.path())
            .find(|path| place::pid_of(path).is_some());
        let arena = arena.with_context(|| format!("the agent could not be loaded: {}", said.trim()))?;
        Ok(Trial { facts: facts::of_arena(&arena)?, said })
    }

    /// What the agent said last under a key.
    pub fn fact(&self, key: &str) -> Option<&str> {
        self.facts.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// Whether the agent has measured by a kind.
    pub fn measured(&self, kind: &Kind) -> bool {
        self.facts.iter().any(|(key, value)| key == "kind" && value == kind.name())
    }

    /// Why it has not.
    pub fn why(&self) -> &str {
        let why = self.said.lines().find_map(|line| line.strip_prefix("quipu: not profiling: "));
        why.unwrap_or("the agent did not say why")
    }
}

/// The kinds, in groups that can be on at the same time.
pub fn groups() -> Vec<Vec<&'static Kind>> {
    let mut groups: Vec<Vec<&Kind>> = Vec::new();
    for kind in KINDS {
        let excluded =
            |other: &&Kind| kind.excludes.contains(&other.name()) || other.excludes.contains(&kind.name());
        match groups.iter_mut().find(|group| !group.iter().any(excluded)) {
            Some(group) => group.push(kind),
            None => groups.push(vec![kind]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_tried_and_none_beside_one_that_it_excludes() {
        let groups = groups();
        assert_eq!(groups.iter().flatten().count(), KINDS.len());
        for group in groups {
            let mut chosen = Chosen::default();
            group.iter().for_each(|kind| chosen.set(kind.name(), kind.switch.bare.unwrap()).unwrap());
            chosen.check().unwrap();
        }
    }
}
