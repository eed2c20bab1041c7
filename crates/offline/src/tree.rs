//! Classes and jars in directories, and single classes.

use std::collections::BTreeMap;

use quipu_classfile::ClassFile;
use quipu_rewrite::World;

use crate::error::Error;
use crate::{Instrumenter, Outcome, jar, jar_class, unit, zip};

/// A file by its path below the directory, with slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFile {
    /// The path.
    pub name: String,
    /// What is in it.
    pub contents: Vec<u8>,
}

/// Whether the instrumenter has any use for a file of this name.
fn is_jar(name: &str) -> bool {
    [".jar", ".war", ".ear"].iter().any(|end| name.ends_with(end))
}

/// Instruments the files of a directory.
pub fn instrument(files: &[InputFile], with: &Instrumenter<'_>) -> Result<(Vec<InputFile>, Outcome), Error> {
    let mut outcome = Outcome::default();
    let mut out = Vec::new();
    let world = World::new(with.find_class());
    let mut roots: BTreeMap<&[u8], Vec<&InputFile>> = BTreeMap::new();
    for file in files {
        if file.name.contains(jar_class::PACKAGE) {
            return Err(Error::Again);
        }
        if is_jar(&file.name) {
            let budget = zip::Budget::for_input(file.contents.len());
            match jar::instrument(&file.contents, with, &budget, 0) {
                Ok((contents, inner)) => {
                    outcome.add(inner, &format!("{}: ", file.name));
                    out.push(InputFile { name: file.name.clone(), contents });
                }
                Err(Error::NotAZip) => {}
                Err(error) => return Err(Error::Nested { name: file.name.clone(), error: Box::new(error) }),
            }
        } else if file.name.ends_with(".class") {
            match ClassFile::parse(&file.contents) {
                Ok(class) => match jar::root(file.name.as_bytes(), class.name()) {
                    Some(root) => {
                        world.learn(&class);
                        roots.entry(root).or_default().push(file);
                    }
                    None => {
                        outcome.leave(file.name.clone(), "its name is not that of the class in it".to_owned())
                    }
                },
                Err(error) => outcome.leave(file.name.clone(), error.to_string()),
            }
        }
    }
    for (root, files) in roots {
        let root = String::from_utf8_lossy(root);
        let classes: Vec<&[u8]> = files.iter().map(|file| &*file.contents).collect();
        with.progress.found(classes.len() as u64);
        let instrumented = unit::instrument(&classes, &with.plan, &world, with.progress)?;
        outcome.classes += instrumented.classes.iter().flatten().count() as u64;
        outcome.methods += instrumented.methods;
        outcome.left.extend(instrumented.left);
        outcome.huge.extend(instrumented.huge);
        let changed = files.iter().zip(instrumented.classes);
        out.extend(
            changed.filter_map(|(file, new)| Some(InputFile { name: file.name.clone(), contents: new? })),
        );
        let added = instrumented.added.into_iter();
        out.extend(added.map(|(name, contents)| InputFile { name: format!("{root}{name}"), contents }));
    }
    Ok((out, outcome))
}

/// Instruments a single class.
pub fn instrument_class(bytes: &[u8], with: &Instrumenter<'_>) -> Result<(Vec<InputFile>, Outcome), Error> {
    let class = ClassFile::parse(bytes).map_err(|e| Error::Class(e.to_string()))?;
    let name = format!("{}.class", String::from_utf8_lossy(class.name()));
    let (mut files, outcome) =
        instrument(&[InputFile { name: name.clone(), contents: bytes.to_vec() }], with)?;
    if files.iter().all(|file| file.name != name) {
        files.insert(0, InputFile { name, contents: bytes.to_vec() });
    }
    Ok((files, outcome))
}
