//! The exports by name.

use crate::{
    ExportError, Options, callgrind, collapsed, directives, firefox, flamegraph, html, json, pprof,
    speedscope,
};
use quipu_profile::Profile;
use std::io::Write;

/// A format that profiles can be exported to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// One line per stack: `main;Foo.sum 42`.
    Collapsed,
    /// A flame graph as SVG.
    FlameGraph,
    /// One page with everything in it, for any browser.
    Html,
    /// speedscope's JSON.
    Speedscope,
    /// pprof's gzipped protocol buffer.
    Pprof,
    /// The Firefox Profiler's processed profile.
    Firefox,
    /// For `callgrind_annotate` and KCachegrind.
    Callgrind,
    /// All of the profile, for programs.
    Json,
    /// What HotSpot's compiler is to inline.
    Directives,
}

impl Format {
    /// All formats, in the order help shows them.
    pub const ALL: [Format; 9] = [
        Format::Collapsed,
        Format::FlameGraph,
        Format::Html,
        Format::Speedscope,
        Format::Pprof,
        Format::Firefox,
        Format::Callgrind,
        Format::Json,
        Format::Directives,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Collapsed => "collapsed",
            Format::FlameGraph => "flamegraph",
            Format::Html => "html",
            Format::Speedscope => "speedscope",
            Format::Pprof => "pprof",
            Format::Firefox => "firefox",
            Format::Callgrind => "callgrind",
            Format::Json => "json",
            Format::Directives => "directives",
        }
    }

    /// The format with this name.
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// How files in this format usually end, without the first dot.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Collapsed => "collapsed",
            Format::FlameGraph => "svg",
            Format::Html => "html",
            Format::Speedscope => "speedscope.json",
            Format::Pprof => "pb.gz",
            Format::Firefox => "firefox.json",
            Format::Callgrind => "callgrind",
            Format::Json => "json",
            Format::Directives => "directives.json",
        }
    }

    /// True when the output is text that may go to a terminal.
    pub fn is_text(self) -> bool {
        self != Format::Pprof
    }
}

/// Writes `profile` in `format`. Output is buffered by the caller or not at all: writes are small and many.
pub fn export(
    profile: &Profile,
    format: Format,
    options: &Options,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    match format {
        Format::Collapsed => collapsed::write(profile, options, out),
        Format::FlameGraph => flamegraph::write(profile, options, out),
        Format::Html => html::write(profile, options, out),
        Format::Speedscope => speedscope::write(profile, options, out),
        Format::Pprof => pprof::write(profile, options, out),
        Format::Firefox => firefox::write(profile, options, out),
        Format::Callgrind => callgrind::write(profile, options, out),
        Format::Json => json::write(profile, options, out),
        Format::Directives => directives::write(profile, options, out),
    }
}
