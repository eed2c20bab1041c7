//! Bytes to profile, believing nothing.

use super::bytes::Reader;
use super::error::ReadError;
use super::section::{self, Section};
use super::tables::{self, Sizes};
use super::{FORMAT_VERSION, MAGIC, nodes, parallel};
use crate::{Metric, NodeId, Profile, Tree, UNKNOWN_SITE};
use serde::de::DeserializeOwned;

pub(super) fn decode(bytes: &[u8]) -> Result<Profile, ReadError> {
    if bytes.is_empty() {
        return Err(ReadError::Empty);
    }
    if !bytes.starts_with(&MAGIC) {
        // The beginning of our own mark is a file that was cut off very early.
        let cut = MAGIC.starts_with(bytes);
        return Err(if cut { ReadError::Truncated { at: bytes.len() } } else { ReadError::Foreign });
    }
    let version = bytes[MAGIC.len()..].get(..4).ok_or(ReadError::Truncated { at: bytes.len() })?;
    let version = u32::from_le_bytes(version.try_into().expect("4 bytes"));
    if version > FORMAT_VERSION {
        return Err(ReadError::Newer { version });
    }
    let file = Sections(section::split(bytes, MAGIC.len() + 4)?);

    let strings = file.read(*b"STRS", |r| tables::strings(r, section::limit(bytes.len())))?;
    let mut methods = file.read(*b"METH", |r| tables::methods(r, strings.len()))?;
    let (parent, roots) = file.read(*b"SHAP", nodes::shape)?;
    let threads = file.read(*b"THRD", |r| tables::threads(r, strings.len(), &roots))?;
    let (tree, metrics) = file.columns(parent, methods.len())?;
    let sizes =
        Sizes { strings: strings.len(), threads: threads.len(), nodes: tree.len(), metrics: metrics.len() };
    if file.has(*b"BLKS") {
        file.read(*b"BLKS", |r| tables::blocks(r, &mut methods))?;
    }
    let mut samples = file.read_or_default(*b"SAMP", |r| tables::samples(r, sizes))?;
    let label_sets = file.read_or_default(*b"LABL", |r| tables::labels(r, sizes.strings, &mut samples))?;
    if file.has(*b"PLAC") {
        file.read(*b"PLAC", |r| tables::places(r, &mut samples))?;
    }
    let mut events = file.read_or_default(*b"EVNT", |r| tables::events(r, sizes))?;
    if file.has(*b"EVCX") {
        file.read(*b"EVCX", |r| tables::event_contexts(r, sizes.nodes, &mut events))?;
    }
    let (meta, run) = (file.json(*b"META")?, file.json(*b"RUN ")?);
    Ok(Profile { meta, run, strings, methods, threads, tree, metrics, label_sets, samples, events })
}

struct Sections<'a>(Vec<Section<'a>>);

impl Sections<'_> {
    fn find(&self, tag: [u8; 4]) -> Option<&Section<'_>> {
        self.0.iter().find(|section| section.tag == tag)
    }

    fn has(&self, tag: [u8; 4]) -> bool {
        self.find(tag).is_some()
    }

    fn read<T>(
        &self,
        tag: [u8; 4],
        parse: impl FnOnce(&mut Reader<'_>) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        let section = self.find(tag).ok_or_else(|| ReadError::Missing { section: section::name(tag) })?;
        read(section, parse)
    }

    fn read_or_default<T: Default>(
        &self,
        tag: [u8; 4],
        parse: impl FnOnce(&mut Reader<'_>) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        if self.has(tag) { self.read(tag, parse) } else { Ok(T::default()) }
    }

    fn json<T: Default + DeserializeOwned>(&self, tag: [u8; 4]) -> Result<T, ReadError> {
        self.read_or_default(tag, |r| {
            serde_json::from_slice(r.rest()).map_err(|error| r.malformed(error.to_string()))
        })
    }

    /// The tree and its metrics: the columns that are long, decoded side by side.
    fn columns(&self, parent: Vec<NodeId>, methods: usize) -> Result<(Tree, Vec<Metric>), ReadError> {
        enum Column {
            Methods(Vec<u32>),
            Sites(Vec<i32>),
            Metric(Metric),
        }
        for tag in [*b"NMET", *b"NSIT"] {
            if self.0.iter().filter(|section| section.tag == tag).count() > 1 {
                return Err(ReadError::Malformed {
                    section: section::name(tag),
                    what: "it is there twice".into(),
                });
            }
        }
        let jobs: Vec<&Section<'_>> =
            self.0.iter().filter(|section| [*b"NMET", *b"NSIT", *b"METR"].contains(&section.tag)).collect();
        let columns = parallel::map(&jobs, parent.len() > 100_000, |section| {
            read(section, |r| {
                Ok(match &section.tag {
                    b"NMET" => Column::Methods(nodes::methods(r, &parent, methods)?),
                    b"NSIT" => Column::Sites(nodes::sites(r, &parent)?),
                    _ => Column::Metric(tables::metric(r, parent.len())?),
                })
            })
        });
        let (mut method, mut site, mut metrics) =
            (None, vec![UNKNOWN_SITE; parent.len()], Vec::<Metric>::new());
        for column in columns {
            match column? {
                Column::Methods(column) => method = Some(column),
                Column::Sites(column) => site = column,
                Column::Metric(metric) => metrics.push(metric),
            }
        }
        let method = method.ok_or_else(|| ReadError::Missing { section: "NMET".into() })?;
        if !metrics.is_sorted_by(|a, b| a.spec.rank() < b.spec.rank()) {
            return Err(ReadError::Malformed {
                section: "METR".into(),
                what: "metrics are out of order".into(),
            });
        }
        let tree = nodes::tree(&Reader::new("NMET", &[]), parent, method, site)?;
        Ok((tree, metrics))
    }
}

fn read<T>(
    section: &Section<'_>,
    parse: impl FnOnce(&mut Reader<'_>) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    let (name, bytes) = (section::name(section.tag), section.unpack()?);
    let mut reader = Reader::new(&name, &bytes);
    let parsed = parse(&mut reader)?;
    reader.finish()?;
    Ok(parsed)
}
