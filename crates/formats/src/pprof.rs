//! pprof's `profile.proto`, gzipped.
//!
//! The outermost message is a list of fields in any order, so it is streamed: one sample at a time, then what the
//! samples referred to. Functions are methods, mappings are modules, locations are (method, line of the call).
//! Threads, their labels and those of samples become labels of the samples: `pprof -tagroot=thread` draws a tree per thread.

use crate::proto::{Function, Label, Line, Location, Mapping, Sample, ValueType, tag};
use crate::{ExportError, Options, names, walk};
use flate2::{Compression, write::GzEncoder};
use prost::Message;
use prost::encoding::{encode_key, encode_varint};
use quipu_profile::{
    Aggregation, LabelsId, MetricId, MetricKind, NO_LABELS, NodeId, Profile, Thread, ThreadKind,
};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

/// Label with the thread's name.
pub(crate) const THREAD: &str = "thread";
/// Label with the thread's group.
pub(crate) const THREAD_GROUP: &str = "thread group";
/// Label that is there unless the thread is a platform thread.
pub(crate) const THREAD_KIND: &str = "thread kind";
/// A comment that starts like this says what sample types cannot: `quipu metrics: "calls" exact count, …`.
pub(crate) const METRICS_COMMENT: &str = "quipu metrics: ";

/// Writes every metric that adds up; the chosen one is the default.
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), ExportError> {
    let main = options.metric_id(profile)?;
    // pprof adds values up wherever it merges, which is wrong for peaks.
    let columns: Vec<MetricId> = (0..profile.metrics().len() as MetricId)
        .filter(|&id| {
            let spec = profile.metrics()[id as usize].spec();
            id == main || (spec.aggregation != Aggregation::Max && !spec.is_variance())
        })
        .collect();
    let mut export = Export {
        profile,
        max_depth: options.max_depth,
        fields: Fields { gzip: GzEncoder::new(out, Compression::fast()), buffer: Vec::new() },
        strings: HashMap::from([(String::new(), 0)]),
        locations: HashMap::new(),
        labelled: labelled(profile),
    };
    export.head(&columns, main)?;
    for thread in profile.threads() {
        export.thread(thread, &columns)?;
    }
    export.tables(options)?;
    export.fields.gzip.finish()?;
    Ok(())
}

/// Function id of the frame for what lies below the depth limit; methods have `id + 1`.
const DEEPER_FUNCTION: u64 = u32::MAX as u64;

struct Export<'p, 'w> {
    profile: &'p Profile,
    max_depth: u32,
    fields: Fields<'w>,
    strings: HashMap<String, i64>,
    /// Ids by (function, line).
    locations: HashMap<(u64, u32), u64>,
    labelled: Labelled,
}

/// What was sampled in a context under each set of labels.
type Labelled = HashMap<NodeId, BTreeMap<LabelsId, HashMap<MetricId, u64>>>;

fn labelled(profile: &Profile) -> Labelled {
    let mut found = Labelled::new();
    for sample in profile.samples().iter().filter(|sample| sample.labels != NO_LABELS) {
        let sets = found.entry(sample.node).or_default();
        let sum = sets.entry(sample.labels).or_default().entry(sample.metric).or_default();
        *sum = sum.saturating_add(sample.value);
    }
    found
}

impl Export<'_, '_> {
    fn head(&mut self, columns: &[MetricId], main: MetricId) -> io::Result<()> {
        let mut described = Vec::new();
        for &id in columns {
            let spec = self.profile.metrics()[id as usize].spec();
            let value_type =
                ValueType { r#type: self.string(&spec.name), unit: self.string(spec.unit.as_str()) };
            self.fields.message(tag::SAMPLE_TYPE, &value_type)?;
            if id == main {
                self.fields.number(tag::DEFAULT_SAMPLE_TYPE, value_type.r#type)?;
                if let MetricKind::Sampled { period } = spec.kind {
                    self.fields.message(tag::PERIOD_TYPE, &value_type)?;
                    self.fields.number(tag::PERIOD, clamp(period))?;
                }
            }
            let kind = match spec.kind {
                MetricKind::Exact => "exact".to_owned(),
                MetricKind::Sampled { period } => format!("sampled:{period}"),
            };
            let aggregation = match spec.aggregation {
                Aggregation::Sum => "sum",
                Aggregation::Count => "count",
                Aggregation::Max => "max",
            };
            described.push(format!("{:?} {kind} {aggregation}", spec.name));
        }
        let comment = self.string(&format!("{METRICS_COMMENT}{}", described.join(", ")));
        self.fields.number(tag::COMMENT, comment)?;
        self.fields.number(tag::TIME_NANOS, clamp(self.profile.run.started.unwrap_or(0)))?;
        self.fields.number(tag::DURATION_NANOS, clamp(self.profile.run.duration.unwrap_or(0)))
    }

    fn thread(&mut self, thread: &Thread, columns: &[MetricId]) -> io::Result<()> {
        let profile = self.profile;
        let labels = self.labels(thread);
        let mut sample = Sample { label: labels, ..Sample::default() };
        // By depth: where the method at that depth is in its call to the next one.
        let mut calls: Vec<u64> = Vec::new();
        let max_depth = self.max_depth;
        walk::stacks(profile, thread, max_depth, |stack| {
            let tree = profile.tree();
            if !stack.deeper
                && let [.., caller, node] = stack.path
            {
                let line = tree.site(*node).and_then(|bci| line(profile, *caller, bci)).unwrap_or(0);
                calls.truncate(stack.path.len() - 2);
                calls.push(self.location(function(profile, *caller), line));
            }
            sample.value.clear();
            for &id in columns {
                let metric = &profile.metrics()[id as usize];
                sample.value.push(clamp(stack.value(metric.values(), metric.spec().aggregation)));
            }
            let sets = (!stack.deeper).then(|| self.labelled.remove(&stack.nodes.start)).flatten();
            if sample.value.iter().all(|&value| value == 0) {
                return Ok(());
            }
            sample.location_id.clear();
            if stack.deeper {
                sample.location_id.push(self.location(DEEPER_FUNCTION, 0));
            }
            if let Some(&leaf) = stack.path.last() {
                sample.location_id.push(self.location(function(profile, leaf), 0));
                sample.location_id.extend(calls[..stack.path.len() - 1].iter().rev());
            }
            for (labels, values) in sets.into_iter().flatten() {
                let part = self.part(&mut sample, columns, labels, &values);
                self.fields.message(tag::SAMPLE, &part)?;
            }
            if sample.value.iter().all(|&value| value == 0) {
                return Ok(());
            }
            self.fields.message(tag::SAMPLE, &sample)
        })
    }

    /// Takes what was sampled under some labels out of a sample.
    fn part(
        &mut self,
        whole: &mut Sample,
        columns: &[MetricId],
        labels: LabelsId,
        values: &HashMap<MetricId, u64>,
    ) -> Sample {
        let mut part = whole.clone();
        for (at, id) in columns.iter().enumerate() {
            part.value[at] = clamp(values.get(id).copied().unwrap_or(0)).min(whole.value[at]);
            whole.value[at] -= part.value[at];
        }
        let profile = self.profile;
        let pairs = profile.labels(labels).iter().map(|&(key, value)| (profile.str(key), profile.str(value)));
        part.label.extend(self.text_labels(pairs));
        part
    }

    fn labels(&mut self, thread: &Thread) -> Vec<Label> {
        let profile = self.profile;
        let mut pairs = Vec::new();
        if thread.name != 0 {
            pairs.push((THREAD, profile.str(thread.name)));
        }
        if thread.group != 0 {
            pairs.push((THREAD_GROUP, profile.str(thread.group)));
        }
        if thread.kind != ThreadKind::Platform {
            pairs.push((THREAD_KIND, thread.kind.as_str()));
        }
        pairs.extend(thread.labels.iter().map(|&(key, value)| (profile.str(key), profile.str(value))));
        self.text_labels(pairs.into_iter())
    }

    fn text_labels<'a>(&mut self, pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Label> {
        pairs
            .map(|(key, value)| Label { key: self.string(key), str: self.string(value), ..Label::default() })
            .collect()
    }

    fn tables(&mut self, options: &Options) -> io::Result<()> {
        let profile = self.profile;
        let mut modules: HashMap<u32, u64> = HashMap::new();
        // pprof takes the first mapping for the program.
        let program = self.string(&options.title(profile));
        self.mapping(1, program)?;
        for method in profile.methods() {
            let next = modules.len() as u64 + 2;
            if method.module != 0 && !modules.contains_key(&method.module) {
                modules.insert(method.module, next);
                let filename = self.string(profile.str(method.module));
                self.mapping(next, filename)?;
            }
        }
        let mut locations: Vec<_> = std::mem::take(&mut self.locations).into_iter().collect();
        locations.sort_unstable_by_key(|&(_, id)| id);
        let deeper = locations.iter().any(|((function, _), _)| *function == DEEPER_FUNCTION);
        for ((function_id, line), id) in locations {
            let module = profile.methods().get(function_id as usize - 1).map_or(0, |method| method.module);
            let mapping_id = modules.get(&module).copied().unwrap_or(1);
            let line = vec![Line { function_id, line: i64::from(line) }];
            self.fields.message(tag::LOCATION, &Location { id, mapping_id, line, address: 0 })?;
        }
        for (id, name) in names::methods(profile).iter().enumerate() {
            let method = &profile.methods()[id];
            let function = Function {
                id: id as u64 + 1,
                name: self.string(name),
                system_name: self.string(&format!("{name}{}", names::clean(profile.str(method.descriptor)))),
                filename: self.string(&names::source_path(profile, id as u32).unwrap_or_default()),
                start_line: method.lines.iter().map(|line| i64::from(line.line)).min().unwrap_or(0),
            };
            self.fields.message(tag::FUNCTION, &function)?;
        }
        if deeper {
            let name = self.string(names::DEEPER);
            let function = Function { id: DEEPER_FUNCTION, name, system_name: name, ..Function::default() };
            self.fields.message(tag::FUNCTION, &function)?;
        }
        let mut strings: Vec<(&str, i64)> =
            self.strings.iter().map(|(text, &id)| (text.as_str(), id)).collect();
        strings.sort_unstable_by_key(|(_, id)| *id);
        strings.into_iter().try_for_each(|(text, _)| self.fields.text(tag::STRING_TABLE, text))
    }

    fn mapping(&mut self, id: u64, filename: i64) -> io::Result<()> {
        let mapping = Mapping {
            id,
            filename,
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
            has_inline_frames: true,
            ..Mapping::default()
        };
        self.fields.message(tag::MAPPING, &mapping)
    }

    fn location(&mut self, function: u64, line: u32) -> u64 {
        let next = self.locations.len() as u64 + 1;
        *self.locations.entry((function, line)).or_insert(next)
    }

    fn string(&mut self, text: &str) -> i64 {
        if let Some(&id) = self.strings.get(text) {
            return id;
        }
        let id = self.strings.len() as i64;
        self.strings.insert(text.to_owned(), id);
        id
    }
}

fn function(profile: &Profile, node: NodeId) -> u64 {
    u64::from(profile.tree().methods()[node as usize]) + 1
}

fn line(profile: &Profile, caller: NodeId, bci: u32) -> Option<u32> {
    profile.method(profile.tree().method(caller)?).line_at(bci)
}

fn clamp(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Fields of the outermost message, one after the other.
struct Fields<'w> {
    gzip: GzEncoder<&'w mut dyn Write>,
    buffer: Vec<u8>,
}

impl Fields<'_> {
    fn message(&mut self, tag: u32, message: &impl Message) -> io::Result<()> {
        self.buffer.clear();
        encode_key(tag, prost::encoding::WireType::LengthDelimited, &mut self.buffer);
        encode_varint(message.encoded_len() as u64, &mut self.buffer);
        message.encode_raw(&mut self.buffer);
        self.gzip.write_all(&self.buffer)
    }

    fn text(&mut self, tag: u32, text: &str) -> io::Result<()> {
        self.buffer.clear();
        encode_key(tag, prost::encoding::WireType::LengthDelimited, &mut self.buffer);
        encode_varint(text.len() as u64, &mut self.buffer);
        self.buffer.extend_from_slice(text.as_bytes());
        self.gzip.write_all(&self.buffer)
    }

    fn number(&mut self, tag: u32, value: i64) -> io::Result<()> {
        if value == 0 {
            return Ok(());
        }
        self.buffer.clear();
        encode_key(tag, prost::encoding::WireType::Varint, &mut self.buffer);
        encode_varint(value as u64, &mut self.buffer);
        self.gzip.write_all(&self.buffer)
    }
}
