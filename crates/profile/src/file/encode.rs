//! Profile to bytes.

use super::section::{self, END};
use super::{Contents, FORMAT_VERSION, MAGIC, nodes, tables};
use crate::{Meta, NO_BCI, NO_NODE, Profile, Run, UNKNOWN_SITE};

pub(super) fn encode(profile: &Profile, contents: Contents) -> Vec<u8> {
    let columns = columns(profile, contents);
    let mut out = Vec::with_capacity(columns.iter().map(Column::stored_len).sum::<usize>() + 256);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    let mut expanded = 0;
    for column in &columns {
        expanded += column.raw.len() as u64;
        section::append(&mut out, column.tag, column.raw.len(), column.packed.as_deref(), &column.raw);
    }
    // Front coding makes little of names that share much: the text counts like a section.
    section::pad(&mut out, expanded.max(profile.strings.text_len() as u64));
    section::write(&mut out, END, &[]);
    out
}

struct Column {
    tag: [u8; 4],
    raw: Vec<u8>,
    packed: Option<Vec<u8>>,
}

impl Column {
    fn stored_len(&self) -> usize {
        section::HEADER + self.packed.as_ref().unwrap_or(&self.raw).len()
    }
}

type Fill<'a> = Box<dyn Fn(&mut Vec<u8>) + Send + Sync + 'a>;

/// All sections in file order. The large ones are made two at a time: encoding is most of the time a save takes.
fn columns(profile: &Profile, contents: Contents) -> Vec<Column> {
    let make = |(tag, fill): &([u8; 4], Fill<'_>)| {
        let mut raw = Vec::new();
        fill(&mut raw);
        let packed = section::pack(&raw);
        Column { tag: *tag, raw, packed }
    };
    super::parallel::map(&jobs(profile, contents), profile.tree.len() > 100_000, make)
}

/// The sections that hold what was measured, as they are before they are packed.
pub(super) fn measured(profile: &Profile) -> impl Iterator<Item = ([u8; 4], Vec<u8>)> + '_ {
    let measured = jobs(profile, Contents::WithoutRun).into_iter().filter(|(tag, _)| *tag != META);
    measured.map(|(tag, fill)| {
        let mut raw = Vec::new();
        fill(&mut raw);
        (tag, raw)
    })
}

/// What was asked for, and of whom.
const META: [u8; 4] = *b"META";

/// What to write in which section.
fn jobs(profile: &Profile, contents: Contents) -> Vec<([u8; 4], Fill<'_>)> {
    let tree = &profile.tree;
    let mut jobs: Vec<([u8; 4], Fill<'_>)> = vec![
        (META, Box::new(|out| put_json(out, &profile.meta))),
        (*b"STRS", Box::new(|out| tables::put_strings(out, &profile.strings))),
        (*b"METH", Box::new(|out| tables::put_methods(out, &profile.methods))),
        (*b"SHAP", Box::new(|out| nodes::put_shape(out, tree))),
        (*b"NMET", Box::new(|out| nodes::put_methods(out, tree))),
        (*b"THRD", Box::new(|out| tables::put_threads(out, &profile.threads))),
    ];
    if tree.site.iter().any(|&site| site != UNKNOWN_SITE) {
        jobs.push((*b"NSIT", Box::new(|out| nodes::put_sites(out, tree))));
    }
    for metric in &profile.metrics {
        jobs.push((*b"METR", Box::new(move |out| tables::put_metric(out, metric))));
    }
    if profile.methods.iter().any(|method| !method.blocks.is_empty()) {
        jobs.push((*b"BLKS", Box::new(|out| tables::put_blocks(out, &profile.methods))));
    }
    if !profile.samples.is_empty() {
        jobs.push((*b"SAMP", Box::new(|out| tables::put_samples(out, &profile.samples))));
    }
    if !profile.label_sets.is_empty() {
        jobs.push((*b"LABL", Box::new(|out| tables::put_labels(out, profile))));
    }
    if profile.samples.iter().any(|sample| sample.bci != NO_BCI) {
        jobs.push((*b"PLAC", Box::new(|out| tables::put_places(out, &profile.samples))));
    }
    if !profile.events.is_empty() {
        jobs.push((*b"EVNT", Box::new(|out| tables::put_events(out, &profile.events))));
    }
    if profile.events.iter().any(|event| event.node != NO_NODE) {
        jobs.push((*b"EVCX", Box::new(|out| tables::put_event_contexts(out, &profile.events))));
    }
    if contents == Contents::All {
        jobs.push((*b"RUN ", Box::new(|out| put_run(out, &profile.run))));
    }
    jobs
}

fn put_json(out: &mut Vec<u8>, meta: &Meta) {
    serde_json::to_writer(out, meta).expect("strings and integers always serialize");
}

fn put_run(out: &mut Vec<u8>, run: &Run) {
    // JSON has no infinities: a calibration that is not a number is no calibration.
    let mut run = run.clone();
    run.calibration.retain(|_, value| value.is_finite());
    serde_json::to_writer(out, &run).expect("strings and finite numbers always serialize");
}
