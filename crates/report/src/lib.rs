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

mod about;
mod columns;
mod diff;
mod edge;
mod error;
mod flat;
mod heading;
mod json;
mod leak;
mod line;
mod lock;
mod narrow;
mod number;
mod overlap;
mod pattern;
mod root;
mod signature;
mod site;
mod style;
mod table;
mod timeline;
mod tree;

pub use diff::{DiffOptions, diff_json, diff_text};
pub use error::ReportError;
pub use narrow::{Narrowed, Narrowing, only_thread};
pub use number::{grouped, in_unit};
pub use overlap::{overlap_json, overlap_text};
pub use style::Style;
pub use table::{printable, shortened};

use columns::Selection;
use quipu_profile::{MethodId, Profile};
use std::borrow::Cow;
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
    /// Source lines, from block counts or from where samples were.
    Line,
    /// Classes.
    Class,
    /// Packages.
    Package,
    /// Modules.
    Module,
    /// Threads.
    Thread,
    /// Call sites: method and bytecode index. Of what is allocated, the instructions that do so, with the class.
    Site,
    /// Labels: on whose behalf.
    Label,
    /// Classes of objects that were made.
    Allocated,
    /// Locks.
    Lock,
    /// Classes of objects that were touched.
    Object,
    /// What grows, and where it was made.
    Leak,
    /// Roots: how long their executions took.
    Root,
    /// Collections.
    Gc,
    /// What took place when.
    Timeline,
}

impl By {
    /// All of them, in the order help lists them.
    pub const ALL: [By; 19] = [
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
        By::Allocated,
        By::Lock,
        By::Object,
        By::Leak,
        By::Root,
        By::Gc,
        By::Timeline,
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
            By::Allocated => "allocated",
            By::Lock => "lock",
            By::Object => "object",
            By::Leak => "leak",
            By::Root => "root",
            By::Gc => "gc",
            By::Timeline => "timeline",
        }
    }

    /// Whether rows are no contexts added up, and have columns of their own.
    fn is_apart(self) -> bool {
        matches!(self, By::Gc | By::Timeline | By::Lock | By::Leak | By::Root)
    }

    /// Whether leaves that say what their parents are about are shown for themselves.
    fn has_details(self) -> bool {
        matches!(self, By::Tree | By::Allocated | By::Object)
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
    /// What part of the profile.
    pub narrowing: Narrowing,
    /// Only methods (classes, packages) whose name contains this; with `*` in it, a pattern for the whole name. A tree
    /// keeps the contexts that pass through such a method.
    pub filter: Option<String>,
    /// At most so many rows. Text has a limit of its own when absent; JSON has none.
    pub limit: Option<usize>,
    /// Only rows with at least this part of the whole, in thousandths of a percent.
    pub min: Option<u32>,
}

/// The report as text, ending in a newline.
pub fn text(profile: &Profile, options: &Options, style: &Style) -> Result<String, ReportError> {
    if options.by.is_apart() {
        let profile = &options.narrowing.apply(profile, "")?.profile;
        return match options.by {
            By::Lock => lock::text(profile, options, style),
            By::Leak => leak::text(profile, options, style),
            By::Root => root::text(profile, options, style),
            _ => timeline::text(profile, options, style),
        };
    }
    let (narrowed, selection) = narrowed(profile, options)?;
    let (profile, selection) = (&narrowed.profile, selection.ranking());
    let mut out = heading::heading(profile, &selection, narrowed.left_out, style);
    out.push_str(&match options.by {
        By::Tree => tree::text(profile, options, &selection, style),
        By::Method | By::Class | By::Package | By::Module | By::Thread | By::Label => {
            flat::text(profile, options, &selection, style)?
        }
        By::Edge => edge::text(profile, options, &selection, style)?,
        By::Callers | By::Callees => edge::neighbours_text(profile, options, &selection, style)?,
        By::Line => line::text(profile, options, &selection, style)?,
        By::Site => site::text(profile, options, &selection, style)?,
        By::Allocated | By::Object => about::text(profile, options, &selection, style)?,
        // Said above.
        By::Gc | By::Timeline | By::Lock | By::Leak | By::Root => String::new(),
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
    if options.by.is_apart() {
        let profile = &options.narrowing.apply(profile, "")?.profile;
        return match options.by {
            By::Lock => lock::json(profile, options, out),
            By::Leak => leak::json(profile, options, out),
            By::Root => root::json(profile, options, out),
            _ => timeline::json(profile, options, out),
        };
    }
    let (narrowed, selection) = narrowed(profile, options)?;
    let profile = &narrowed.profile;
    match options.by {
        By::Tree => tree::json(profile, options, &selection, out),
        By::Method | By::Class | By::Package | By::Module | By::Thread | By::Label => {
            flat::json(profile, options, &selection, out)
        }
        By::Edge => edge::json(profile, options, &selection, out),
        By::Callers | By::Callees => edge::neighbours_json(profile, options, &selection, out),
        By::Line => line::json(profile, options, &selection, out),
        By::Site => site::json(profile, options, &selection, out),
        By::Allocated | By::Object => about::json(profile, options, &selection, out),
        // Said above.
        By::Gc | By::Timeline | By::Lock | By::Leak | By::Root => Ok(()),
    }
}

/// The part of the profile that was asked for, a tree cut to the contexts asked for, and the metrics.
fn narrowed<'a>(profile: &'a Profile, options: &Options) -> Result<(Narrowed<'a>, Selection), ReportError> {
    let metric = Selection::new(profile, options)?.main(profile).name();
    let mut narrowed = options.narrowing.apply(profile, metric)?;
    if let (By::Tree, Some(filter)) = (options.by, &options.filter) {
        let marks = pattern::methods(&narrowed.profile, filter)?;
        narrowed.profile = Cow::Owned(narrowed.profile.focus(|_, method| marks[method as usize]));
    }
    let of_allocations = options.by == By::Site && site::of_allocations(&narrowed.profile, options)?;
    if !options.by.has_details()
        && !of_allocations
        && let Cow::Owned(folded) = narrowed.profile.fold_details()
    {
        narrowed.profile = Cow::Owned(folded);
    }
    let mut selection = Selection::new(&narrowed.profile, options)?;
    if of_allocations || options.by == By::Allocated {
        selection.keep(&narrowed.profile, site::is_of_allocations);
    }
    Ok((narrowed, selection))
}

/// The methods meant by a name: the one that has it, or else all that contain it or match it if it has a `*`.
pub fn methods_named(profile: &Profile, name: &str) -> Result<Vec<MethodId>, ReportError> {
    let wanted = pattern::methods(profile, name)?;
    Ok((0..).zip(wanted).filter(|(_, wanted)| *wanted).map(|(id, _)| id).collect())
}
