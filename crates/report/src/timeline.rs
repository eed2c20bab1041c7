//! Events of the timeline: what took place when, in the order of time.

use crate::json::Report;
use crate::number::in_unit;
use crate::style::Style;
use crate::table::printable;
use crate::{By, Options, ReportError, pattern};
use quipu_profile::{Event, NO_NODE, NO_THREAD, Profile, Unit};
use std::fmt::Write as _;
use std::io;

/// Rows of text unless told otherwise.
const LIMIT: usize = 200;

/// The events that were asked for; those of the collector alone for `gc`.
fn events<'a>(profile: &'a Profile, options: &Options) -> Result<Vec<&'a Event>, ReportError> {
    let wanted = |event: &&Event| {
        let name = profile.str(event.name);
        (options.by != By::Gc || name.starts_with("gc."))
            && options.filter.as_ref().is_none_or(|filter| pattern::wants(filter, name))
    };
    let found: Vec<&Event> = profile.events().iter().filter(wanted).collect();
    if found.is_empty() && profile.events().is_empty() {
        return Err(ReportError::Nothing { what: options.by.as_str(), kind: "--timeline" });
    }
    Ok(found)
}

/// The method in which an event took place.
fn method(profile: &Profile, event: &Event) -> Option<String> {
    let node = Some(event.node).filter(|&node| node != NO_NODE)?;
    profile.tree().method(node).map(|method| profile.method_name(method))
}

fn thread<'a>(profile: &'a Profile, event: &Event) -> Option<&'a str> {
    let thread = Some(event.thread).filter(|&thread| thread != NO_THREAD)?;
    profile.threads().get(thread as usize).map(|thread| profile.str(thread.name))
}

pub(crate) fn json(profile: &Profile, options: &Options, out: &mut dyn io::Write) -> Result<(), ReportError> {
    let events = events(profile, options)?;
    let mut report = Report::new(out, options.by.as_str(), &[])?;
    for event in events.into_iter().take(options.limit.unwrap_or(usize::MAX)) {
        report.row(|object| {
            object.text("event", profile.str(event.name))?;
            object.int("time", event.time)?;
            object.int("duration", event.duration)?;
            match thread(profile, event) {
                Some(thread) => object.text("thread", thread)?,
                None => object.null("thread")?,
            }
            match method(profile, event) {
                Some(method) => object.text("in", &method)?,
                None => object.null("in")?,
            }
            object.object("details", |details| {
                for &(key, value) in &event.details {
                    details.text(profile.str(key), profile.str(value))?;
                }
                Ok(())
            })
        })?;
    }
    Ok(report.finish()?)
}

pub(crate) fn text(profile: &Profile, options: &Options, style: &Style) -> Result<String, ReportError> {
    let events = events(profile, options)?;
    let limit = options.limit.unwrap_or(LIMIT);
    let mut out = String::new();
    let time = |nanos| in_unit(nanos, &Unit::Nanoseconds);
    let _ = writeln!(out, "{:>12}  {:>10}  {:<14} what", "at", "for", "event");
    for event in events.iter().take(limit) {
        let lasted = if event.duration == 0 { String::new() } else { time(event.duration) };
        let mut line = format!("{:>12}  {lasted:>10}  {:<14}", time(event.time), profile.str(event.name));
        for &(key, value) in &event.details {
            let (key, value) = (profile.str(key), printable(profile.str(value)));
            let _ = if key == "what" { write!(line, " {value}") } else { write!(line, " {key} {value}") };
        }
        if let Some(method) = method(profile, event) {
            let _ = write!(line, " in {}", printable(&method));
        }
        if let Some(thread) = thread(profile, event) {
            let _ = write!(line, " [{}]", printable(thread));
        }
        out.extend(line.trim_end().chars().take(style.width.unwrap_or(usize::MAX)));
        out.push('\n');
    }
    if events.len() > limit {
        let _ = writeln!(out, "... {} events more", events.len() - limit);
    }
    if options.by == By::Gc && !events.is_empty() {
        let paused: u64 = events.iter().map(|event| event.duration).sum();
        let longest = events.iter().map(|event| event.duration).max().unwrap_or(0);
        let _ =
            writeln!(out, "{} pauses, {} in all, {} the longest", events.len(), time(paused), time(longest));
    }
    Ok(out)
}
