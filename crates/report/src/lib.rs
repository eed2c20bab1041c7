//! Reports: a profile as text for people or JSON for programs.
//!
//! Nothing here prints or knows what a terminal is: the caller says in a [`Style`] whether colours and Unicode are
//! welcome and how wide a line may be. Text and JSON come from the same numbers; JSON has one shape whatever the report
//! is about, an object with `by`, `metrics` and flat `rows`, and is written as a stream because a tree may have
//! millions of rows.
//!
//! ```
//! # let profile = quipu_profile::Builder::new().finish();
//! use quipu_report::{By, Options, Style};
//! let options = Options { by: By::Thread, limit: Some(20), ..Options::default() };
//! let text = quipu_report::text(&profile, &options, &Style::default());
//! let json = quipu_report::json(&profile, &options);
//! ```
#![forbid(unsafe_code)]

mod columns;
mod diff;
mod edge;
mod error;
mod flat;
mod heading;
mod json;
mod line;
mod number;
mod overlap;
mod pattern;
mod signature;
mod site;
mod style;
mod table;
mod tree;

pub use diff::{DiffOptions, diff_json, diff_text};
pub use error::ReportError;
pub use number::{grouped, in_unit};
pub use overlap::{overlap_json, overlap_text};
pub use style::Style;
pub use table::printable;

use columns::Selection;
use quipu_profile::{MethodId, Profile};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;

/// What the rows of a report are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Calling contexts, top-down.
    #[default]
    Tree,
    /// Methods.
    Method,
    /// Methods, each with who calls it.
    Callers,
    /// Methods, each with whom it calls.
    Callees,
    /// Call edges: caller, site, callee.
    Edge,
    /// Source lines, from block counts.
    Line,
    /// Classes.
    Class,
    /// Packages.
    Package,
    /// Modules.
    Module,
    /// Threads.
    Thread,
    /// Call sites: method and bytecode index.
    Site,
    /// Labels: on whose behalf.
    Label,
}

impl By {
    /// All of them, in the order help lists them.
    pub const ALL: [By; 12] = [
        By::Tree,
        By::Method,
        By::Callers,
        By::Callees,
        By::Edge,
        By::Line,
        By::Class,
        By::Package,
        By::Module,
        By::Thread,
        By::Site,
        By::Label,
    ];

    /// Its name on the command line and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            By::Tree => "tree",
            By::Method => "method",
            By::Callers => "callers",
            By::Callees => "callees",
            By::Edge => "edge",
            By::Line => "line",
            By::Class => "class",
            By::Package => "package",
            By::Module => "module",
            By::Thread => "thread",
            By::Site => "site",
            By::Label => "label",
        }
    }
}

impl std::str::FromStr for By {
    type Err = ReportError;

    fn from_str(name: &str) -> Result<By, ReportError> {
        let names = || By::ALL.iter().map(|by| by.as_str());
        let found = By::ALL.into_iter().find(|by| by.as_str() == name);
        found.ok_or_else(|| ReportError::unknown("report", name, names()))
    }
}

/// What to report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What the rows are.
    pub by: By,
    /// Metrics to show, the first one to rank by: `bytecodes`, `calls,bytecodes`, or two with their ratio,
    /// `bytecodes/calls`. When absent, JSON has all metrics and text the one that rows are ranked by.
    pub metric: Option<String>,
    /// Only this thread; `*` stands for anything.
    pub thread: Option<String>,
    /// Only what carries this label, key and value.
    pub label: Option<(String, String)>,
    /// Only methods (classes, packages) whose name contains this; with `*` in it, a pattern for the whole name. A tree
    /// keeps the contexts that pass through such a method.
    pub filter: Option<String>,
    /// At most so many rows. Text has a limit of its own when absent; JSON has none.
    pub limit: Option<usize>,
}

/// The report as text, ending in a newline.
pub fn text(profile: &Profile, options: &Options, style: &Style) -> Result<String, ReportError> {
    let profile = narrowed(profile, options)?;
    let selection = Selection::new(&profile, options)?.ranking();
    let mut out = heading::heading(&profile, &selection, style);
    out.push_str(&match options.by {
        By::Tree => tree::text(&profile, options, &selection, style),
        By::Method | By::Class | By::Package | By::Module | By::Thread | By::Label => {
            flat::text(&profile, options, &selection, style)?
        }
        By::Edge => edge::text(&profile, options, &selection, style)?,
        By::Callers | By::Callees => edge::neighbours_text(&profile, options, &selection, style)?,
        By::Line => line::text(&profile, options, style)?,
        By::Site => site::text(&profile, options, &selection, style)?,
    });
    Ok(out)
}

/// The report as JSON, ending in a newline.
pub fn json(profile: &Profile, options: &Options) -> Result<String, ReportError> {
    let mut out = Vec::new();
    write_json(profile, options, &mut out)?;
    Ok(String::from_utf8(out).expect("JSON is UTF-8"))
}

/// The report as JSON, row by row into `out`.
pub fn write_json(profile: &Profile, options: &Options, out: &mut dyn io::Write) -> Result<(), ReportError> {
    let profile = narrowed(profile, options)?;
    let selection = Selection::new(&profile, options)?;
    match options.by {
        By::Tree => tree::json(&profile, options, &selection, out),
        By::Method | By::Class | By::Package | By::Module | By::Thread | By::Label => {
            flat::json(&profile, options, &selection, out)
        }
        By::Edge => edge::json(&profile, options, &selection, out),
        By::Callers | By::Callees => edge::neighbours_json(&profile, options, &selection, out),
        By::Line => line::json(&profile, options, out),
        By::Site => site::json(&profile, options, &selection, out),
    }
}

/// The profile cut to the thread asked for, and a tree to the contexts asked for.
fn narrowed<'a>(profile: &'a Profile, options: &Options) -> Result<Cow<'a, Profile>, ReportError> {
    let mut profile = Cow::Borrowed(profile);
    if let Some(wanted) = &options.thread {
        profile = Cow::Owned(only_thread(&profile, wanted)?);
    }
    if let Some((key, value)) = &options.label {
        profile = Cow::Owned(only_label(&profile, key, value)?);
    }
    if let (By::Tree, Some(filter)) = (options.by, &options.filter) {
        let marks = pattern::methods(&profile, filter)?;
        profile = Cow::Owned(profile.focus(|_, method| marks[method as usize]));
    }
    Ok(profile)
}

/// The methods meant by a name: the one that has it, or else all that contain it or match it if it has a `*`.
pub fn methods_named(profile: &Profile, name: &str) -> Result<Vec<MethodId>, ReportError> {
    let wanted = pattern::methods(profile, name)?;
    Ok((0..).zip(wanted).filter(|(_, wanted)| *wanted).map(|(id, _)| id).collect())
}

/// The profile cut to the threads with this name; `*` stands for anything.
pub fn only_thread(profile: &Profile, wanted: &str) -> Result<Profile, ReportError> {
    let names = || profile.threads().iter().map(|thread| profile.str(thread.name));
    // A thread's name may have a star in it: the name itself comes first.
    let exact = names().any(|name| name == wanted);
    let wants = |name: &str| if exact { name == wanted } else { pattern::glob(wanted, name) };
    if !names().any(wants) {
        return Err(ReportError::unknown("thread", wanted, names()));
    }
    Ok(profile.select_threads(|profile, thread| wants(profile.str(thread.name))))
}

/// The profile cut to what carries a label: whole threads, and samples of the others.
pub fn only_label(profile: &Profile, key: &str, value: &str) -> Result<Profile, ReportError> {
    let threads = profile.threads().iter().flat_map(|thread| &thread.labels);
    let samples = profile.samples().iter().flat_map(|sample| profile.labels(sample.labels));
    let known: BTreeSet<_> = threads.chain(samples).copied().collect();
    if !known.iter().any(|&(k, v)| (profile.str(k), profile.str(v)) == (key, value)) {
        let known: Vec<String> =
            known.iter().map(|&(k, v)| format!("{}={}", profile.str(k), profile.str(v))).collect();
        let wanted = format!("{key}={value}");
        return Err(ReportError::unknown("label", &wanted, known.iter().map(String::as_str)));
    }
    Ok(profile.select_label(key, value))
}
