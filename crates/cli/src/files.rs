//! Files of `quipu instrument`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context;
use quipu_offline::InputFile;

use crate::exit::Failure;

/// What lies below a directory, in a steady order.
pub struct Found {
    /// Classes and jars.
    pub files: Vec<InputFile>,
    /// Paths of all files and directories, parents first.
    paths: Vec<PathBuf>,
}

/// Whether two paths are the same file.
pub fn same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Goes through a directory. `output` must not lie in it, and must be new or empty.
pub fn below(directory: &Path, output: &Path) -> anyhow::Result<Found> {
    if fs::read_dir(output).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::usage(format!(
            "{} is there already: remove it, or name another",
            output.display()
        )));
    }
    let inside =
        output.parent().and_then(|parent| parent.canonicalize().ok()).zip(directory.canonicalize().ok());
    if inside.is_some_and(|(parent, directory)| parent.starts_with(directory)) {
        return Err(Failure::usage("the output would lie in the input: name another directory"));
    }
    let mut found = Found { files: Vec::new(), paths: Vec::new() };
    walk(directory, Path::new(""), &mut found)?;
    Ok(found)
}

fn walk(directory: &Path, below: &Path, found: &mut Found) -> anyhow::Result<()> {
    let here = directory.join(below);
    let entries = fs::read_dir(&here).with_context(|| format!("cannot read {}", here.display()))?;
    let mut names = entries.map(|entry| Ok(entry?.file_name())).collect::<std::io::Result<Vec<_>>>()?;
    names.sort();
    for name in names {
        let path = below.join(&name);
        let full = directory.join(&path);
        // A link to a directory could lead in a circle; what it leads to is not part of this one.
        let kind = fs::symlink_metadata(&full)?;
        if kind.is_symlink() && full.is_dir() {
            eprintln!("quipu: {}: a link to a directory, left out", full.display());
            continue;
        }
        found.paths.push(path.clone());
        if kind.is_dir() {
            walk(directory, &path, found)?;
            continue;
        }
        let wanted = path.extension().is_some_and(|e| ["class", "jar", "war", "ear"].iter().any(|w| e == *w));
        if let (true, Some(name)) = (wanted, path.to_str()) {
            let contents = fs::read(&full).with_context(|| format!("cannot read {}", full.display()))?;
            found.files.push(InputFile { name: name.to_owned(), contents });
        }
    }
    Ok(())
}

/// Copies a directory with its times, and writes what changed over it.
pub fn write_directory(
    input: &Path,
    output: &Path,
    found: &Found,
    changed: &[InputFile],
) -> anyhow::Result<()> {
    let cannot = |path: &Path| format!("cannot write {}", path.display());
    fs::create_dir_all(output).with_context(|| cannot(output))?;
    for path in &found.paths {
        let (from, to) = (input.join(path), output.join(path));
        if from.is_dir() {
            fs::create_dir_all(&to).with_context(|| cannot(&to))?;
        } else {
            fs::copy(&from, &to).with_context(|| cannot(&to))?;
        }
    }
    write_all(output, changed)?;
    for path in found.paths.iter().rev() {
        if let Ok(modified) = fs::metadata(input.join(path)).and_then(|metadata| metadata.modified()) {
            // Where times cannot be set, the contents are right all the same.
            let _ = File::open(output.join(path)).and_then(|file| file.set_modified(modified));
        }
    }
    Ok(())
}

/// Writes files below a directory.
pub fn write_all(directory: &Path, files: &[InputFile]) -> anyhow::Result<()> {
    for file in files {
        let path = directory.join(&file.name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        }
        fs::write(&path, &file.contents).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Writes a file, whole or not at all.
pub fn replace(path: &Path, contents: &[u8]) -> anyhow::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let written = fs::write(&part, contents).and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written.with_context(|| format!("cannot write {}", path.display()))
}
