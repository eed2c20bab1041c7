//! The kinds of measurement, each declared once: its name, its options with type, default and help, what it needs and
//! excludes, the JVM flags that go with it, and its metrics.
//!
//! The command line, the agent's options, `quipu ctl`, the options that a profile records and the table in
//! `docs/kinds/` all come from these declarations. A new kind is a file in `kinds/`, and a line in [`KINDS`].
//!
//! ```
//! use quipu_kinds::Chosen;
//!
//! let chosen = Chosen::parse("cpu=1000,threads=main")?;
//! assert_eq!(chosen.number("cpu"), Some(1000));
//! assert!(chosen.kinds().all(|kind| kind.name() == "cpu"));
//! assert!(Chosen::parse("cpu=fast").is_err());
//! # Ok::<(), quipu_kinds::Wrong>(())
//! ```

/// The example of a new kind in CONTRIBUTING.md compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../CONTRIBUTING.md")]
struct Contributing;

mod chosen;
mod kinds;
mod table;
mod value;

pub use chosen::{Chosen, Wrong, escape};
pub use kinds::*;
pub use table::table;
pub use value::{Value, size};

/// A kind of measurement.
#[derive(Debug)]
pub struct Kind {
    /// What switches it on, and the value that it takes, such as a rate.
    pub switch: Setting,
    /// What its options are about: a heading in `--help`.
    pub title: &'static str,
    /// What it does while it is on, in words; `{}` is the value that it was given.
    pub running: &'static str,
    /// Its own options. Those of other kinds can be named by [`Setting::kinds`].
    pub options: &'static [Setting],
    /// Kinds that cannot be on at the same time.
    pub excludes: &'static [&'static str],
    /// The oldest Java whose VM has what it needs; see [`Kind::since_for`].
    pub since: u32,
    /// What the JVM is started with, for `quipu run`.
    pub flags: &'static [&'static str],
    /// What it measures.
    pub metrics: &'static [Metric],
    /// What it tells of on the timeline.
    pub events: &'static [Event],
    /// What it costs, roughly, for people about to attach to a program that others depend on.
    pub cost: &'static str,
    /// Whether classes are rewritten for it.
    pub rewrites: Rewrites,
    /// Whether threads that wait have most of it. The JVM's own hardly do anything else: reports leave them out.
    pub waiting: bool,
}

/// Whether classes are rewritten for a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewrites {
    /// Never.
    Never,
    /// Always.
    Always,
    /// If [`ALL`] is measured, and not a sample of it.
    IfAll,
}

/// The oldest Java that is supported.
pub const OLDEST_JAVA: u32 = 8;

/// The value of kinds that measure samples of something, or everything: `--alloc all`.
pub const ALL: &str = "all";

impl Kind {
    /// Its name: `cpu`.
    pub const fn name(&self) -> &'static str {
        self.switch.name
    }

    /// The oldest Java that it works on, if it was given this value: rewritten classes do without the VM's help.
    pub fn since_for(&self, value: &str) -> u32 {
        if self.rewrites_for(value) { OLDEST_JAVA } else { self.since }
    }

    /// Why it does not work on a VM that lacks what it needs.
    pub fn needs(&self) -> String {
        ["--", self.name(), " needs Java ", &self.since.to_string(), " or newer"].concat()
    }

    /// Whether classes are rewritten for it, if it was given this value.
    pub fn rewrites_for(&self, value: &str) -> bool {
        match self.rewrites {
            Rewrites::Never => false,
            Rewrites::Always => true,
            Rewrites::IfAll => value == ALL,
        }
    }
}

/// Something that can be chosen.
#[derive(Debug)]
pub struct Setting {
    /// Its name: an option without dashes.
    pub name: &'static str,
    /// What it takes.
    pub value: Value,
    /// What it is taken for if it is named without a value; otherwise it needs one.
    pub bare: Option<&'static str>,
    /// What it is if it is not named.
    pub default: Option<&'static str>,
    /// What it is for, in a sentence.
    pub help: &'static str,
    /// Whether it can be named several times.
    pub many: bool,
    /// It makes sense with one of these kinds only; with all, if there are none.
    pub kinds: &'static [&'static str],
    /// It cannot be chosen together with these, or with the value behind the `=`.
    pub excludes: &'static [&'static str],
    /// Whether the profile tells of it.
    pub recorded: Recorded,
    /// Whether it can be changed while something is measured, with `quipu ctl set`.
    pub changeable: bool,
}

/// Whether a profile tells of a setting. Counts made with different ones do not compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// Also if it was left at its default.
    Always,
    /// If it was chosen.
    Chosen,
    /// It does not change what is measured, or is told in another way.
    Never,
}

impl Setting {
    /// On or off; the others are made from it.
    pub const fn switch(name: &'static str, help: &'static str) -> Setting {
        Setting {
            name,
            value: Value::Switch,
            bare: Some(""),
            default: None,
            help,
            many: false,
            kinds: &[],
            excludes: &[],
            recorded: Recorded::Chosen,
            changeable: false,
        }
    }

    /// Takes a value.
    pub const fn of(name: &'static str, value: Value, help: &'static str) -> Setting {
        Setting { value, bare: None, ..Setting::switch(name, help) }
    }
}

/// A column of a profile.
#[derive(Debug)]
pub struct Metric {
    /// Its name in profiles.
    pub name: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// How values add up.
    pub aggregation: Aggregation,
    /// What it tells.
    pub help: &'static str,
}

/// Something that is told of on the timeline.
#[derive(Debug)]
pub struct Event {
    /// Its name in profiles.
    pub name: &'static str,
    /// What its two numbers are called; empty for one that it does not have.
    pub values: [&'static str; 2],
    /// What it tells.
    pub help: &'static str,
}

/// What a metric counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Occurrences.
    Count,
    /// Executed bytecodes.
    Bytecodes,
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes of memory.
    Bytes,
}

impl Unit {
    /// Its name in files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Unit::Count => "count",
            Unit::Bytecodes => "bytecodes",
            Unit::Nanoseconds => "nanoseconds",
            Unit::Bytes => "bytes",
        }
    }
}

/// How values of a metric combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregation {
    /// A node's total is the sum over its subtree.
    Sum,
    /// Adds up when nodes become one, but a total over a subtree means nothing.
    Count,
}

/// The kind with this name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().copied().find(|kind| kind.name() == name)
}

/// Everything that people can choose: the kinds, their options, and what they share.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    let of_kinds = KINDS.iter().map(|kind| &kind.switch);
    of_kinds.chain(KINDS.iter().flat_map(|kind| kind.options)).chain(&SHARED)
}

/// The setting with this name, also one that only the command line uses.
pub fn setting(name: &str) -> Option<&'static Setting> {
    settings().chain(&INTERNAL).find(|setting| setting.name == name)
}

/// Names in a sentence: `exact, cpu or wall`.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => [&most.join(", "), " or ", last].concat(),
    }
}
