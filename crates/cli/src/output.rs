//! Where results go: looked at before the work begins, written whole or not at all.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use quipu_formats::{ExportError, Format, Options, collapsed};
use quipu_profile::Profile;
use quipu_report::{Narrowed, Narrowing, grouped};

use crate::exit::Failure;

/// Refuses a place that nothing can be written to, before hours of work have been done for it.
pub fn check(path: &Path) -> anyhow::Result<()> {
    quipu_profile::try_place(path).map_err(|error| {
        Failure::usage(format!(
            "{} cannot be written: {error}; name another file with -o, in a directory that is there and yours to write to",
            path.display()
        ))
    })
}

/// The export that a file's name asks for by its end; `None` for a profile of our own.
pub fn format_of(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_str()?;
    let fits =
        |format: &Format| name.strip_suffix(format.extension()).is_some_and(|stem| stem.ends_with('.'));
    // `x.speedscope.json` ends like two of them.
    Format::ALL.into_iter().filter(fits).max_by_key(|format| format.extension().len())
}

/// `cpu.quipu` becomes `cpu-0001.quipu`, and `cpu.pb.gz` `cpu-0001.pb.gz`.
pub fn numbered(path: &Path, number: u32) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let extension = match format_of(path) {
        Some(format) => format.extension(),
        None => path.extension().and_then(|extension| extension.to_str()).unwrap_or_default(),
    };
    let stem = name.strip_suffix(extension).and_then(|stem| stem.strip_suffix('.'));
    path.with_file_name(match stem {
        Some(stem) => format!("{stem}-{number:04}.{extension}"),
        None => format!("{name}-{number:04}"),
    })
}

/// Writes a profile as its file's name has it; returns what of it was written.
pub fn save<'p>(profile: &'p Profile, path: &Path) -> anyhow::Result<Cow<'p, Profile>> {
    match format_of(path) {
        Some(format) => {
            let options = Options::default();
            let narrowed = narrowed(profile, &options)?;
            if narrowed.left_out > 0 {
                let n = narrowed.left_out;
                eprintln!(
                    "quipu: {} is without {n} threads of the JVM and of Quipu; a .quipu file has all",
                    path.display()
                );
            }
            if let Some(told) = save_export(&narrowed.profile, path, format, &options)? {
                eprintln!("quipu: {told}");
            }
            Ok(narrowed.profile)
        }
        None => profile.save(path).map(|()| Cow::Borrowed(profile)).map_err(Failure::target),
    }
}

/// What an export has of a profile where nothing else is asked for, as with `quipu export`.
fn narrowed<'p>(profile: &'p Profile, options: &Options) -> anyhow::Result<Narrowed<'p>> {
    match quipu_formats::chosen_metric(profile, options) {
        Ok(metric) => Narrowing::default().apply(profile, metric.name()).map_err(Failure::usage),
        // A profile of events alone has none.
        Err(_) => Ok(Narrowed { profile: Cow::Borrowed(profile), left_out: 0 }),
    }
}

/// Writes an export in place of a profile; returns what is to be said of it.
fn save_export(
    profile: &Profile,
    path: &Path,
    format: Format,
    options: &Options,
) -> anyhow::Result<Option<String>> {
    let advice = "a .quipu file has all, and `quipu export --whole` writes them";
    let told = pruned_in_words(profile, format, options, advice)?;
    write(path, |out| export(profile, format, options, out))?;
    Ok(told)
}

/// Writes a profile in another tool's format.
pub fn export(
    profile: &Profile,
    format: Format,
    options: &Options,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    quipu_formats::export(profile, format, options, out).map_err(|error| match error {
        ExportError::Io(error) => error.into(),
        error => Failure::usage(error),
    })
}

/// Says so, if not all contexts have room in an export, and what to do about it.
pub fn tell_pruned(profile: &Profile, format: Format, options: &Options, advice: &str) -> anyhow::Result<()> {
    if let Some(text) = pruned_in_words(profile, format, options, advice)? {
        eprintln!("quipu: {text}");
    }
    Ok(())
}

fn pruned_in_words(
    profile: &Profile,
    format: Format,
    options: &Options,
    advice: &str,
) -> anyhow::Result<Option<String>> {
    if format != Format::Collapsed {
        return Ok(None);
    }
    let pruned = collapsed::pruned(profile, options).map_err(Failure::usage)?;
    Ok(pruned.map(|pruned| {
        format!(
            "{} of {} contexts, the smallest, are folded into their callers: all of them would be {} MB; {advice}",
            grouped(pruned.folded as u64),
            grouped(pruned.contexts as u64),
            grouped(pruned.bytes / 1_000_000)
        )
    }))
}

/// Writes a file: all of it, or nothing.
pub fn write(path: &Path, contents: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let whole = |file: &mut File| -> anyhow::Result<()> {
        let mut out = BufWriter::new(file);
        contents(&mut out)?;
        Ok(out.flush()?)
    };
    quipu_profile::replace_file(path, whole).map_err(|error| match error.is::<Failure>() {
        true => error,
        false => Failure::target(format!("cannot write {}: {error:#}", path.display())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use quipu_profile::{Builder, MethodSpec, MetricSpec, ThreadSpec, UNKNOWN_SITE};

    #[test]
    fn names_end_like_formats() {
        let of = |name: &str| format_of(Path::new(name)).map(Format::name);
        assert_eq!(of("a/x.html"), Some("html"));
        assert_eq!(of("x.pb.gz"), Some("pprof"));
        assert_eq!(of("x.speedscope.json"), Some("speedscope"));
        assert_eq!(of("x.json"), Some("json"));
        assert_eq!(of("x.y.collapsed"), Some("collapsed"));
        assert_eq!((of("x.quipu"), of("html"), of("xhtml"), of("x")), (None, None, None, None));
        // Every format can be asked for.
        for format in Format::ALL {
            assert_eq!(of(&format!("x.{}", format.extension())), Some(format.name()));
        }
    }

    /// What is left out of a file that a run writes is said, as `quipu export` says it.
    #[test]
    fn pruned_stacks_are_told() {
        let mut builder = Builder::new();
        let bytecodes = builder.metric(MetricSpec::bytecodes());
        let thread = builder.thread(ThreadSpec { name: "main", ..ThreadSpec::default() });
        for i in 0..200u64 {
            let name = format!("method{i}");
            let method = builder.method(MethodSpec { class: "A", name: &name, ..MethodSpec::default() });
            let node = builder.push(builder.root(thread), method, UNKNOWN_SITE);
            builder.add(node, bytecodes, i + 1);
        }
        let profile = builder.finish();
        let directory = tempfile::tempdir().unwrap();
        let said = |name: &str, max_bytes| {
            let path = directory.path().join(name);
            let options = Options { max_bytes, ..Options::default() };
            let said = save_export(&profile, &path, format_of(&path).unwrap(), &options).unwrap();
            assert!(path.is_file());
            said
        };
        let text = said("x.collapsed", Some(1000)).expect("something is left out");
        assert!(text.contains(" of 200 contexts, the smallest, are folded into their callers"), "{text}");
        assert!(text.contains("quipu export --whole"), "{text}");
        assert_eq!((said("x.collapsed", None), said("x.html", Some(1000))), (None, None));
    }

    #[test]
    fn numbers_go_before_the_end() {
        let of = |name: &str| numbered(Path::new(name), 7).display().to_string();
        assert_eq!(of("a/cpu.quipu"), "a/cpu-0007.quipu");
        assert_eq!(of("cpu.pb.gz"), "cpu-0007.pb.gz");
        assert_eq!(of("my.cpu.speedscope.json"), "my.cpu-0007.speedscope.json");
        assert_eq!(of("cpu"), "cpu-0007");
    }
}
