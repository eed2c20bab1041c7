//! Classes in jars, by name.

use crate::error::Error;
use crate::jar::DEEPEST;
use crate::zip::{Archive, Budget};

/// Every class of this internal name in a jar and the jars within it: an archive may have one for each release of Java,
/// or the same library twice.
pub fn classes_named(jar: &[u8], name: &str) -> Result<Vec<Vec<u8>>, Error> {
    let mut found = Vec::new();
    search(jar, format!("{name}.class").as_bytes(), &Budget::for_input(jar.len()), 0, &mut found)?;
    Ok(found)
}

/// The names of all classes in a jar, with dots; not of those in jars within it.
pub fn class_names(jar: &[u8]) -> Result<Vec<String>, Error> {
    let archive = Archive::read(jar)?;
    let names = archive.entries.iter().filter_map(|entry| entry.name.strip_suffix(b".class"));
    Ok(names.map(|name| String::from_utf8_lossy(name).replace('/', ".")).collect())
}

fn search(
    jar: &[u8],
    file: &[u8],
    budget: &Budget,
    depth: u32,
    found: &mut Vec<Vec<u8>>,
) -> Result<(), Error> {
    if depth > DEEPEST {
        return Err(Error::TooDeep);
    }
    for entry in &Archive::read(jar)?.entries {
        // Below the root, or below some `BOOT-INF/classes/` or `META-INF/versions/17/`.
        let above = entry.name.strip_suffix(file);
        if above.is_some_and(|above| above.is_empty() || above.ends_with(b"/")) {
            found.push(entry.contents(budget)?);
        } else if entry.name.ends_with(b".jar") {
            search(&entry.contents(budget)?, file, budget, depth + 1, found)?;
        }
    }
    Ok(())
}
