//! `quipu annotate`: a method's bytecode with how often each instruction was executed.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use quipu_listing::{ListingError, Row};
use quipu_profile::{MethodId, Profile};

use crate::collect::load;
use crate::exit::{DONE, Failure};
use crate::jdk;
use crate::report::style;

/// Show a method's bytecode with how often each instruction was executed.
///
/// The profile must have been made with --blocks; the bytecode comes from the classes named, or from the JDK.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  quipu run --blocks -o app.quipu -- java -jar app.jar
  quipu annotate app.quipu com.acme.Parser.next --classes app.jar
  quipu annotate app.quipu HashMap.put                        a method of the JDK
  quipu annotate app.quipu 'com.acme.*' --classes target/classes --limit 20 --json")]
pub struct Annotate {
    /// A .quipu file, or the .arena file of a target that was killed or had no agent
    file: PathBuf,

    /// Methods whose name contains this, or matches it if it has a `*`; the busiest first
    method: String,

    /// Where the classes are: a jar, a directory, or a .class file; repeatable
    #[arg(long, value_name = "PATH")]
    classes: Vec<PathBuf>,

    /// The JDK whose classes were profiled [default: that of JAVA_HOME or PATH]
    #[arg(long, value_name = "HOME")]
    jdk: Option<PathBuf>,

    /// At most so many methods
    #[arg(long, value_name = "N", default_value_t = 3)]
    limit: usize,

    /// For programs: a JSON object with flat rows for each method, one after the other
    #[arg(long)]
    json: bool,
}

impl Annotate {
    /// Prints the listings.
    pub fn run(self) -> anyhow::Result<u8> {
        let profile = load(&self.file)?;
        let named = quipu_report::methods_named(&profile, &self.method).map_err(Failure::usage)?;
        let work = |id: &MethodId| {
            let blocks = profile.method(*id).blocks.iter();
            blocks.fold(0u64, |sum, block| {
                sum.saturating_add(block.count.saturating_mul(block.instructions.into()))
            })
        };
        let mut counted: Vec<MethodId> =
            named.iter().copied().filter(|&id| !profile.method(id).blocks.is_empty()).collect();
        counted.sort_by_key(|id| std::cmp::Reverse(work(id)));
        if counted.is_empty() {
            let name = named.first().map(|&id| profile.method_name(id)).unwrap_or_default();
            return Err(Failure::usage(ListingError::NoBlocks(name)));
        }
        let sources = Sources::open(&self.classes, self.jdk.as_deref())?;
        let mut out = std::io::stdout().lock();
        for (at, &id) in counted.iter().take(self.limit).enumerate() {
            let rows = sources.listing(&profile, id)?;
            let text = match self.json {
                true => quipu_listing::json(&profile, id, &rows),
                false => quipu_listing::text(&profile, id, &rows, &style()),
            };
            let gap = if at > 0 && !self.json { "\n" } else { "" };
            out.write_all(format!("{gap}{text}").as_bytes())?;
        }
        if counted.len() > self.limit {
            eprintln!(
                "quipu: {} more methods have this name; --limit shows them",
                counted.len() - self.limit
            );
        }
        Ok(DONE)
    }
}

/// Where classes are looked for.
struct Sources {
    paths: Vec<PathBuf>,
    jars: Vec<(PathBuf, Vec<u8>)>,
    jdk: Option<quipu_offline::RuntimeImage>,
}

impl Sources {
    fn open(paths: &[PathBuf], jdk: Option<&Path>) -> anyhow::Result<Sources> {
        let mut sources = Sources { paths: Vec::new(), jars: Vec::new(), jdk: jdk::image(jdk)? };
        for path in paths {
            let is_class = path.extension().is_some_and(|extension| extension == "class");
            if path.is_dir() || is_class {
                sources.paths.push(path.clone());
                continue;
            }
            let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            sources.jars.push((path.clone(), bytes));
        }
        Ok(sources)
    }

    /// The first class of the right name that the profile's blocks fit.
    fn listing(&self, profile: &Profile, method: MethodId) -> anyhow::Result<Vec<Row>> {
        let class = profile.str(profile.method(method).class);
        let mut why = None;
        for bytes in self.classes(&class.replace('.', "/"))? {
            match quipu_listing::listing(profile, method, &bytes) {
                Ok(rows) => return Ok(rows),
                Err(error) => why = Some(error),
            }
        }
        Err(Failure::usage(match why {
            Some(error) => error.to_string(),
            None => format!("{class} is not in the JDK; name the jar or directory it is in with --classes"),
        }))
    }

    /// All classes of this internal name.
    fn classes(&self, name: &str) -> anyhow::Result<Vec<Vec<u8>>> {
        let mut found = Vec::new();
        for path in &self.paths {
            let file = if path.is_dir() { path.join(format!("{name}.class")) } else { path.clone() };
            if file.is_file() {
                found.push(fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?);
            }
        }
        for (path, jar) in &self.jars {
            let classes = quipu_offline::classes_named(jar, name);
            found.extend(classes.map_err(|e| Failure::usage(format!("{} {e}", path.display())))?);
        }
        found.extend(self.jdk.as_ref().and_then(|jdk| jdk.class(name.as_bytes())));
        Ok(found)
    }
}
