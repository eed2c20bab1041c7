//! Jars, and the jars within them.

use std::collections::BTreeMap;

use quipu_classfile::ClassFile;
use quipu_rewrite::World;
use rayon::prelude::*;

use crate::error::Error;
use crate::zip::{Archive, Budget, Entry};
use crate::{Instrumenter, Outcome, jar_class, unit};

pub const DEEPEST: u32 = 8;
const VERSIONS: &[u8] = b"META-INF/versions/";

/// What an entry is to us.
enum Part {
    Class { bytes: Vec<u8>, root: Vec<u8> },
    Jar(Result<(Vec<u8>, Outcome), Error>),
    Left(String),
    Other,
}

/// The bytes of an instrumented jar.
pub fn instrument(
    bytes: &[u8],
    with: &Instrumenter<'_>,
    budget: &Budget,
    depth: u32,
) -> Result<(Vec<u8>, Outcome), Error> {
    if depth > DEEPEST {
        return Err(Error::TooDeep);
    }
    let mut archive = Archive::read(bytes)?;
    if archive.entries.iter().any(|entry| contains(&entry.name, jar_class::PACKAGE.as_bytes())) {
        return Err(Error::Again);
    }
    let mut outcome = Outcome::default();
    drop_signatures(&mut archive, &mut outcome);
    let parts: Vec<Part> =
        archive.entries.par_iter().map(|entry| part(entry, with, budget, depth)).collect::<Result<_, _>>()?;
    let mut roots: BTreeMap<&[u8], Vec<(usize, &[u8])>> = BTreeMap::new();
    for (index, part) in parts.iter().enumerate() {
        if let Part::Class { bytes, root } = part {
            roots.entry(root).or_default().push((index, bytes));
        }
    }
    let world = World::new(with.find_class());
    for (index, part) in parts.iter().enumerate() {
        let base = archive.entries.get(index).is_some_and(|entry| !contains(&entry.name, VERSIONS));
        if let (Part::Class { bytes, .. }, true) = (part, base)
            && let Ok(class) = ClassFile::parse(bytes)
        {
            world.learn(&class);
        }
    }
    let mut replaced: Vec<(usize, Vec<u8>)> = Vec::new();
    let mut added = Vec::new();
    for (root, classes) in roots {
        let (indices, classes): (Vec<usize>, Vec<&[u8]>) = classes.into_iter().unzip();
        with.progress.found(classes.len() as u64);
        let instrumented = unit::instrument(&classes, &with.plan, &world, with.progress)?;
        outcome.classes += instrumented.classes.iter().flatten().count() as u64;
        outcome.methods += instrumented.methods;
        outcome.left.extend(instrumented.left);
        outcome.huge.extend(instrumented.huge);
        replaced.extend(indices.into_iter().zip(instrumented.classes).filter_map(|(i, new)| Some((i, new?))));
        for (name, contents) in instrumented.added {
            added.push(Entry::new([root, name.as_bytes()].concat(), &contents)?);
        }
    }
    for (index, part) in parts.into_iter().enumerate() {
        let name = || archive.entries.get(index).map(Entry::display_name).unwrap_or_default();
        match part {
            Part::Jar(Ok((bytes, inner))) => {
                outcome.add(inner, &format!("{}: ", name()));
                replaced.push((index, bytes));
            }
            Part::Jar(Err(error)) => {
                return Err(match error {
                    Error::Bomb { .. } | Error::TooDeep => error,
                    error => Error::Nested { name: name(), error: Box::new(error) },
                });
            }
            Part::Left(why) => outcome.leave(name(), why),
            Part::Class { .. } | Part::Other => {}
        }
    }
    let mut slots: Vec<Option<Vec<u8>>> = vec![None; archive.entries.len()];
    for (index, bytes) in replaced {
        if let Some(slot) = slots.get_mut(index) {
            *slot = Some(bytes);
        }
    }
    let packed: Result<Vec<()>, Error> = archive
        .entries
        .par_iter_mut()
        .zip(slots)
        .map(|(entry, new)| new.map_or(Ok(()), |new| entry.replace(&new)))
        .collect();
    packed?;
    archive.entries.extend(added);
    outcome.jars += 1;
    outcome.main_class = main_class(&archive, budget);
    Ok((archive.write()?, outcome))
}

fn part(entry: &Entry<'_>, with: &Instrumenter<'_>, budget: &Budget, depth: u32) -> Result<Part, Error> {
    if entry.name.ends_with(b".class") {
        let bytes = match entry.contents(budget) {
            Ok(bytes) => bytes,
            Err(bomb @ Error::Bomb { .. }) => return Err(bomb),
            Err(error) => return Ok(Part::Left(error.to_string())),
        };
        return Ok(match ClassFile::parse(&bytes) {
            Ok(class) => match root(&entry.name, class.name()) {
                Some(root) => Part::Class { root: root.to_vec(), bytes },
                None => Part::Left("its name is not that of the class in it".to_owned()),
            },
            Err(error) => Part::Left(error.to_string()),
        });
    }
    if [&b".jar"[..], b".war", b".ear", b".rar"].iter().any(|end| entry.name.ends_with(end)) {
        let bytes = match entry.contents(budget) {
            Ok(bytes) => bytes,
            Err(bomb @ Error::Bomb { .. }) => return Err(bomb),
            Err(error) => return Ok(Part::Left(error.to_string())),
        };
        return Ok(match instrument(&bytes, with, budget, depth + 1) {
            // A file that only has the name of a jar is somebody's data.
            Err(Error::NotAZip) => Part::Other,
            Ok((_, inner)) if inner.is_unchanged() => Part::Other,
            result => Part::Jar(result),
        });
    }
    Ok(Part::Other)
}

/// Where class loaders begin to look for a class, as seen from the top of the jar: before its package, and before
/// `META-INF/versions/11/`.
pub fn root<'n>(entry: &'n [u8], class: &[u8]) -> Option<&'n [u8]> {
    let root = entry.strip_suffix(b".class")?.strip_suffix(class)?;
    if !root.is_empty() && !root.ends_with(b"/") {
        return None;
    }
    let versioned = root.strip_suffix(b"/").and_then(|path| {
        let digits = path.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        path.get(..path.len() - digits).filter(|_| digits > 0)?.strip_suffix(VERSIONS)
    });
    Some(versioned.unwrap_or(root))
}

fn main_class(archive: &Archive<'_>, budget: &Budget) -> Option<String> {
    let manifest = archive.entries.iter().find(|entry| *entry.name == *b"META-INF/MANIFEST.MF")?;
    let text =
        String::from_utf8_lossy(&manifest.contents(budget).ok()?).replace("\r\n", "\n").replace("\n ", "");
    let name = text.lines().find_map(|line| line.strip_prefix("Main-Class:"))?.trim().to_owned();
    // It is shown as part of a command.
    name.chars().all(|c| c.is_alphanumeric() || "._$".contains(c)).then_some(name)
}

/// Signatures are of the old bytes. The index of packages knows nothing of the package that is added.
fn drop_signatures(archive: &mut Archive<'_>, outcome: &mut Outcome) {
    let before = archive.entries.len();
    archive.entries.retain(|entry| !is_signature(&entry.name));
    if archive.entries.len() < before {
        outcome
            .notices
            .push("was signed: the signatures are left out, since they are of the old bytes".to_owned());
    }
    let before = archive.entries.len();
    archive.entries.retain(|entry| !entry.name.eq_ignore_ascii_case(b"META-INF/INDEX.LIST"));
    if archive.entries.len() < before {
        outcome.notices.push("had an index of its packages (INDEX.LIST), which is left out".to_owned());
    }
}

fn is_signature(name: &[u8]) -> bool {
    let name = name.to_ascii_uppercase();
    let Some(file) = name.strip_prefix(b"META-INF/") else { return false };
    !file.contains(&b'/')
        && ([&b".SF"[..], b".RSA", b".DSA", b".EC"].iter().any(|end| file.ends_with(end))
            || file.starts_with(b"SIG-"))
}

fn contains(name: &[u8], part: &[u8]) -> bool {
    name.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_where_packages_begin() {
        let main = b"com/acme/Main";
        assert_eq!(root(b"com/acme/Main.class", main), Some(&b""[..]));
        assert_eq!(root(b"BOOT-INF/classes/com/acme/Main.class", main), Some(&b"BOOT-INF/classes/"[..]));
        assert_eq!(root(b"META-INF/versions/11/com/acme/Main.class", main), Some(&b""[..]));
        assert_eq!(root(b"x/META-INF/versions/9/com/acme/Main.class", main), Some(&b"x/"[..]));
        assert_eq!(root(b"META-INF/versions/com/acme/Main.class", main), Some(VERSIONS));
        assert_eq!(root(b"xcom/acme/Main.class", main), None);
        assert_eq!(root(b"com/acme/Other.class", main), None);
    }

    #[test]
    fn signatures_lie_in_meta_inf_itself() {
        assert!(is_signature(b"META-INF/ACME.SF") && is_signature(b"meta-inf/acme.rsa"));
        assert!(is_signature(b"META-INF/SIG-ACME"));
        assert!(!is_signature(b"META-INF/services/x.SF") && !is_signature(b"a/META-INF/ACME.SF"));
        assert!(!is_signature(b"META-INF/MANIFEST.MF"));
    }
}
