//! pprof's `profile.proto`, gzipped or plain.
//!
//! Two passes over the fields: the first collects the tables, the second takes the samples straight into the tree.
//! pprof knows the line of a call but no bytecode index. The line number stands in for the index, with a line table
//! that maps it to itself, so reports by line work and calls from different lines stay apart.

use super::wire::{Value, fields};
use super::{Bounded, frame};
use crate::pprof::{METRICS_COMMENT, THREAD, THREAD_GROUP, THREAD_KIND};
use crate::proto::{Function, Label, Location, Mapping, Sample, ValueType, tag};
use crate::{ImportError, Limits};
use flate2::read::MultiGzDecoder;
use quipu_profile::{
    Aggregation, Line, MethodFlags, MethodId, MethodSpec, MetricId, MetricKind, MetricSpec, NodeId, Profile,
    ThreadKind, ThreadSpec, UNKNOWN_SITE, Unit,
};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::io::Read;

/// Reads a pprof profile; every sample type becomes a metric.
///
/// Text labels become labels of threads, `thread` its name; labels with numbers are left out.
pub fn pprof(bytes: &[u8], limits: &Limits) -> Result<Profile, ImportError> {
    let message = uncompressed(bytes, limits)?;
    let tables = Tables::read(&message)?;
    if tables.sample_types.is_empty() {
        return Err(ImportError::Empty);
    }
    let mut import =
        Import { tree: Bounded::new(limits), tables, frames: HashMap::new(), roots: HashMap::new() };
    import.tree.builder.run.started = import.tables.time;
    import.tree.builder.run.duration = import.tables.duration;
    let metrics = import.metrics()?;
    import.methods()?;
    for field in fields(&message) {
        let field = field?;
        if field.tag == tag::SAMPLE {
            import.sample(field.message()?, &metrics)?;
        }
    }
    Ok(import.tree.builder.finish())
}

/// Real profiles shrink tenfold, repetitive ones a hundredfold; what grows more than this allows is an attack.
fn uncompressed<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Cow<'a, [u8]>, ImportError> {
    let gzip = bytes.starts_with(&[0x1f, 0x8b]);
    let allowed = (64 << 20) + 256 * bytes.len() as u64;
    let limit = if gzip { limits.bytes.min(allowed) } else { limits.bytes };
    let message = if gzip {
        let mut message = Vec::new();
        let mut decoder = MultiGzDecoder::new(bytes).take(limit.saturating_add(1));
        decoder.read_to_end(&mut message).map_err(ImportError::Gzip)?;
        Cow::Owned(message)
    } else {
        Cow::Borrowed(bytes)
    };
    if message.len() as u64 > limit {
        return Err(ImportError::TooLarge { what: "bytes", limit });
    }
    Ok(message)
}

/// One frame of a location.
#[derive(Clone, Copy)]
struct Frame {
    method: MethodId,
    line: u32,
}

#[derive(Default)]
struct Tables<'m> {
    strings: Vec<&'m [u8]>,
    sample_types: Vec<ValueType>,
    mappings: HashMap<u64, i64>,
    locations: Vec<Location>,
    functions: HashMap<u64, Function>,
    period_type: ValueType,
    period: u64,
    comments: Vec<i64>,
    time: Option<u64>,
    duration: Option<u64>,
}

impl<'m> Tables<'m> {
    fn read(message: &'m [u8]) -> Result<Tables<'m>, ImportError> {
        let mut tables = Tables::default();
        for field in fields(message) {
            let field = field?;
            match (field.tag, field.value) {
                (tag::SAMPLE_TYPE, _) => tables.sample_types.push(field.message()?),
                (tag::MAPPING, _) => {
                    let mapping: Mapping = field.message()?;
                    tables.mappings.insert(mapping.id, mapping.filename);
                }
                (tag::LOCATION, _) => tables.locations.push(field.message()?),
                (tag::FUNCTION, _) => {
                    let function: Function = field.message()?;
                    tables.functions.insert(function.id, function);
                }
                (tag::STRING_TABLE, _) => tables.strings.push(field.bytes()?),
                (tag::PERIOD_TYPE, _) => tables.period_type = field.message()?,
                (tag::COMMENT, _) => tables.comments.extend(field.numbers()?),
                (tag::PERIOD, Value::Number(period)) => tables.period = positive(period).unwrap_or(0),
                (tag::TIME_NANOS, Value::Number(time)) => tables.time = positive(time),
                (tag::DURATION_NANOS, Value::Number(time)) => tables.duration = positive(time),
                _ => {}
            }
        }
        Ok(tables)
    }

    fn string(&self, index: i64) -> Result<Cow<'m, str>, ImportError> {
        let bytes = usize::try_from(index).ok().and_then(|index| self.strings.get(index));
        // Index 0 is the empty string even where a writer left the table out.
        match bytes {
            Some(bytes) => Ok(String::from_utf8_lossy(bytes)),
            None if index == 0 => Ok(Cow::Borrowed("")),
            None => Err(ImportError::Dangling { what: "string", id: index }),
        }
    }
}

fn positive(number: u64) -> Option<u64> {
    (number > 0 && number <= i64::MAX as u64).then_some(number)
}

struct Import<'m, 'l> {
    tree: Bounded<'l>,
    tables: Tables<'m>,
    /// By location id, innermost first.
    frames: HashMap<u64, Vec<Frame>>,
    /// By labels (key, value).
    roots: HashMap<Vec<(i64, i64)>, NodeId>,
}

impl Import<'_, '_> {
    fn metrics(&mut self) -> Result<Vec<MetricId>, ImportError> {
        let tables = &self.tables;
        let comments: Vec<_> = tables.comments.iter().filter_map(|&id| tables.string(id).ok()).collect();
        let mut names = BTreeSet::new();
        let mut ids = Vec::new();
        for value_type in &tables.sample_types {
            let unit = tables.string(value_type.unit)?;
            let mut name = tables.string(value_type.r#type)?.into_owned();
            if name.is_empty() {
                name = "value".to_owned();
            }
            if names.contains(&name) {
                name = format!("{name}.{unit}");
            }
            if !names.insert(name.clone()) {
                return Err(ImportError::Unsupported("two sample types have the same name and unit"));
            }
            let period = if *value_type == tables.period_type { tables.period } else { 0 };
            let mut spec = MetricSpec::sampled(&name, Unit::from_name(&unit), period);
            let own = comments.iter().filter(|comment| comment.starts_with(METRICS_COMMENT));
            let quoted = format!("{name:?} ");
            if let Some((_, words)) = own.filter_map(|comment| comment.split_once(quoted.as_str())).next() {
                describe(&mut spec, words.split(", ").next().unwrap_or_default());
            }
            ids.push(self.tree.builder.metric(spec));
        }
        Ok(ids)
    }

    /// Makes methods of functions, with the lines that locations mention, and frames of locations.
    fn methods(&mut self) -> Result<(), ImportError> {
        let ours = self
            .tables
            .comments
            .iter()
            .any(|&id| self.tables.string(id).is_ok_and(|comment| comment.starts_with(METRICS_COMMENT)));
        let mut methods: HashMap<u64, MethodId> = HashMap::new();
        let mut lines: HashMap<MethodId, (u64, BTreeSet<u32>)> = HashMap::new();
        for location in std::mem::take(&mut self.tables.locations) {
            // The first mapping is the program itself; only our own exports have modules in the others.
            let module = match self.tables.mappings.get(&location.mapping_id) {
                Some(&name) if ours && location.mapping_id != 1 => self.tables.string(name)?,
                _ => Cow::Borrowed(""),
            };
            let mut frames = Vec::with_capacity(location.line.len().max(1));
            if location.line.is_empty() {
                let name = format!("{:#x}", location.address);
                let flags = MethodFlags::FOREIGN;
                let method =
                    self.tree.builder.method(MethodSpec { name: &name, flags, ..MethodSpec::default() });
                frames.push(Frame { method, line: 0 });
            }
            for line in &location.line {
                let method = match methods.get(&line.function_id) {
                    Some(&method) => method,
                    None => {
                        let method = self.method(line.function_id, &module, &[])?;
                        methods.insert(line.function_id, method);
                        method
                    }
                };
                // A line has to fit where a call site goes.
                let number = i32::try_from(line.line).map_or(0, |number| number.max(0) as u32);
                if number > 0 {
                    lines.entry(method).or_insert((line.function_id, BTreeSet::new())).1.insert(number);
                }
                frames.push(Frame { method, line: number });
            }
            self.frames.insert(location.id, frames);
        }
        for (function, lines) in lines.into_values() {
            let lines: Vec<Line> = lines.into_iter().map(|line| Line { bci: line, line }).collect();
            self.method(function, "", &lines)?;
        }
        Ok(())
    }

    fn method(&mut self, function: u64, module: &str, lines: &[Line]) -> Result<MethodId, ImportError> {
        let tables = &self.tables;
        let missing = ImportError::Dangling { what: "function", id: function as i64 };
        let function = tables.functions.get(&function).ok_or(missing)?;
        let (name, system_name) = (tables.string(function.name)?, tables.string(function.system_name)?);
        let file = tables.string(function.filename)?;
        let text = if name.is_empty() { &system_name } else { &name };
        let descriptor = system_name.strip_prefix(text.as_ref()).filter(|rest| rest.starts_with('('));
        let (class, name) = frame::split(text);
        let source = match (class.rsplit_once('.'), file.rsplit_once('/')) {
            (Some((package, _)), Some((folder, source))) if package.replace('.', "/") == folder => source,
            _ => &file,
        };
        let descriptor = descriptor.unwrap_or_default();
        let spec =
            MethodSpec { class: &class, name, descriptor, source, module, lines, ..Default::default() };
        Ok(self.tree.builder.method(spec))
    }

    fn sample(&mut self, sample: Sample, metrics: &[MetricId]) -> Result<(), ImportError> {
        if sample.value.len() != metrics.len() {
            return Err(ImportError::Unsupported(
                "a sample has more or fewer values than there are sample types",
            ));
        }
        if sample.value.iter().any(|&value| value < 0) {
            return Err(ImportError::Unsupported(
                "the profile has negative values (a difference of two profiles); only counts can be imported",
            ));
        }
        let mut node = self.root(&sample.label)?;
        let mut site = UNKNOWN_SITE;
        let mut depth = 0;
        for &id in sample.location_id.iter().rev() {
            let missing = ImportError::Dangling { what: "location", id: id as i64 };
            let frames = self.frames.get(&id).ok_or(missing)?;
            for frame in frames.iter().rev() {
                depth += 1;
                node = self.tree.child(node, frame.method, site, depth)?;
                site = if frame.line == 0 { UNKNOWN_SITE } else { frame.line as i32 };
            }
        }
        for (&metric, &value) in metrics.iter().zip(&sample.value) {
            self.tree.builder.add(node, metric, value as u64);
        }
        Ok(())
    }

    /// The root of the thread that a sample's labels describe.
    fn root(&mut self, labels: &[Label]) -> Result<NodeId, ImportError> {
        let mut key: Vec<(i64, i64)> = labels.iter().filter(|l| l.str != 0).map(|l| (l.key, l.str)).collect();
        key.sort_unstable();
        key.dedup();
        if let Some(&root) = self.roots.get(&key) {
            return Ok(root);
        }
        let texts: Vec<(Cow<str>, Cow<str>)> = (key.iter())
            .map(|&(key, value)| Ok((self.tables.string(key)?, self.tables.string(value)?)))
            .collect::<Result<_, ImportError>>()?;
        // A profile without labels does not tell threads apart.
        let mut spec = ThreadSpec::default();
        if texts.is_empty() {
            spec.kind = ThreadKind::Root;
        }
        let mut labels: Vec<(&str, &str)> = Vec::new();
        for (key, value) in &texts {
            match (key.as_ref(), value.as_ref()) {
                (THREAD | "thread_name" | "thread name", name) => spec.name = name,
                (THREAD_GROUP, group) => spec.group = group,
                (THREAD_KIND, "virtual") => spec.kind = ThreadKind::Virtual,
                (THREAD_KIND, "root") => spec.kind = ThreadKind::Root,
                pair => labels.push(pair),
            }
        }
        spec.labels = &labels;
        let thread = self.tree.builder.thread(spec);
        let root = self.tree.builder.root(thread);
        self.roots.insert(key, root);
        Ok(root)
    }
}

/// What our own exports say about a metric in a comment: `exact count`, `sampled:1000 sum`.
fn describe(spec: &mut MetricSpec, words: &str) {
    for word in words.split(' ') {
        match (word, word.strip_prefix("sampled:").and_then(|period| period.parse().ok())) {
            ("exact", _) => spec.kind = MetricKind::Exact,
            (_, Some(period)) => spec.kind = MetricKind::Sampled { period },
            ("sum", _) => spec.aggregation = Aggregation::Sum,
            ("count", _) => spec.aggregation = Aggregation::Count,
            ("max", _) => spec.aggregation = Aggregation::Max,
            _ => {}
        }
    }
}
