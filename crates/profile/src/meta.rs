//! What was measured, on what, and at what price.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The program under the profiler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Target {
    /// The command line, argument by argument.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Main class or jar.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub main: String,
}

/// The Java virtual machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Jvm {
    /// `java.vm.name`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// `java.vm.version`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// `java.vm.vendor`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub vendor: String,
    /// Flags that are not the default, in command line form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// Host name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Operating system and kernel.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub os: String,
    /// Processor architecture and model.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cpu: String,
    /// Processors the target could use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Bytes of memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
}

/// The experiment: what two runs of it have in common. Part of a profile's content, so nothing in here may
/// depend on when or under which pid the target ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// The program.
    pub target: Target,
    /// The virtual machine.
    pub jvm: Jvm,
    /// The profiler's own options, in the order given: (`exact`, ``), (`bba`, `precise`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<(String, String)>,
    /// What was pinned to make runs equal: hash seeds, compiler flags, locales.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pins: BTreeMap<String, String>,
    /// What is missing, by cause: `arena.full`, `stack.walk.failed`. Absent means nothing was lost.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lost: BTreeMap<String, u64>,
    /// Anything else, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extra: Vec<(String, String)>,
}

/// One run of it: what differs each time. Kept in a file section of its own, left out of comparisons.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// Process id of the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// When the profile began, nanoseconds since 1970 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<u64>,
    /// How long it covers, nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
    /// The machine.
    pub host: Host,
    /// What measuring cost, in sentences for people.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cost: Vec<String>,
    /// Measured constants that corrections used, by name: `probe.ns`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub calibration: BTreeMap<String, f64>,
    /// Anything else, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extra: Vec<(String, String)>,
}
