//! Events of the timeline: what took place when, in the order of time.

use crate::json::Report;
use crate::number::in_unit;
use crate::style::Style;
use crate::table::printable;
use crate::{By, Options, ReportError, leak, pattern};
use quipu_profile::{Event, NO_NODE, NO_THREAD, Profile, Unit};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

/// Rows of text unless told otherwise.
const LIMIT: usize = 200;

/// The events that were asked for; those of the collector alone for `gc`.
fn events<'a>(profile: &'a Profile, options: &Options) -> Result<Vec<&'a Event>, ReportError> {
    let wanted = |event: &&Event| {
        let name = profile.str(event.name);
        (options.by != By::Gc || name.starts_with("gc."))
            && name != leak::GROWTH
            && options.filter.as_ref().is_none_or(|filter| pattern::wants(filter, name))
    };
    let found: Vec<&Event> = profile.events().iter().filter(wanted).collect();
    if found.is_empty() && profile.events().is_empty() {
        return Err(ReportError::Nothing { what: options.by.as_str(), kind: "--timeline" });
    }
    Ok(found)
}

const HEAP_BEFORE: &str = "heap.before";
const HEAP_AFTER: &str = "heap.after";

/// Bytes of the heap in use, by the event's own words.
fn heap(profile: &Profile, event: &Event, key: &str) -> Option<u64> {
    let found = event.details.iter().find(|(name, _)| profile.str(*name) == key);
    found.and_then(|(_, value)| profile.str(*value).parse().ok())
}

/// Bytes that were allocated in a second, by the time of the pause that ended the stretch: how much more of the heap was in use
/// then than after the pause before.
fn rates(profile: &Profile, events: &[&Event]) -> BTreeMap<u64, u64> {
    let bytes = |event: &Event, key: &str| heap(profile, event, key);
    let pauses: Vec<&&Event> = events.iter().filter(|event| bytes(event, HEAP_AFTER).is_some()).collect();
    let rate = |two: &[&&Event]| {
        let [before, now] = two else { return None };
        let allocated = bytes(now, HEAP_BEFORE)?.saturating_sub(bytes(before, HEAP_AFTER)?);
        let nanos = now.time.checked_sub(before.time.checked_add(before.duration)?)?;
        (nanos > 0).then(|| (now.time, (allocated as f64 * 1e9 / nanos as f64) as u64))
    };
    pauses.windows(2).filter_map(rate).collect()
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
    let rates = rates(profile, &events);
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
                if let Some(rate) = rates.get(&event.time) {
                    details.text("allocation.rate", &rate.to_string())?;
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
    let rates = rates(profile, &events);
    let mut out = String::new();
    let time = |nanos| in_unit(nanos, &Unit::Nanoseconds);
    let _ = writeln!(out, "{:>12}  {:>10}  {:<14} what", "at", "for", "event");
    for event in events.iter().take(limit) {
        let lasted = if event.duration == 0 { String::new() } else { time(event.duration) };
        let mut line = format!("{:>12}  {lasted:>10}  {:<14}", time(event.time), profile.str(event.name));
        for &(key, value) in &event.details {
            let (key, value) = (profile.str(key), printable(profile.str(value)));
            let _ = match key {
                "what" => write!(line, " {value}"),
                // Told below.
                HEAP_BEFORE | HEAP_AFTER => Ok(()),
                _ => write!(line, " {key} {value}"),
            };
        }
        let bytes = |value| in_unit(value, &Unit::Bytes);
        if let (Some(before), Some(after)) =
            (heap(profile, event, HEAP_BEFORE), heap(profile, event, HEAP_AFTER))
        {
            let _ = write!(line, " heap {} -> {}", bytes(before), bytes(after));
        }
        if let Some(rate) = rates.get(&event.time) {
            let _ = write!(line, ", {}/s allocated", bytes(*rate));
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
