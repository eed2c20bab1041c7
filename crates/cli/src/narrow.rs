//! The options of `report` and `export` that say what of a profile is looked at.

use clap::Args;
use quipu_formats::Options;
use quipu_profile::Profile;
use quipu_report::Narrowing;

use crate::exit::Failure;

/// What of the profile.
#[derive(Args, Debug)]
pub struct Narrow {
    /// Only this thread; `*` stands for anything
    #[arg(long, value_name = "NAME")]
    thread: Option<String>,

    /// Only threads whose name contains this, or matches it if it has a `*`; may be repeated
    #[arg(long, value_name = "PATTERN")]
    include_threads: Vec<String>,

    /// No threads whose name contains this, or matches it if it has a `*`; may be repeated
    #[arg(long, value_name = "PATTERN")]
    exclude_threads: Vec<String>,

    /// Of elapsed time (--wall), the threads of the JVM's compilers and collectors and Quipu's own, too
    #[arg(long)]
    all_threads: bool,

    /// Only what carries this label: threads, or samples of a sampled profile
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    label: Option<(String, String)>,

    /// Only Java: what libraries, the VM and the kernel did is part of the method that called them
    #[arg(long)]
    java: bool,

    /// Make methods whose name contains this, or matches it if it has a `*`, part of their callers; may be repeated
    #[arg(long, value_name = "PATTERN")]
    hide: Vec<String>,
}

impl Narrow {
    /// The part of a profile to export: contexts below `min` are part of their callers.
    pub fn of(self, profile: &Profile, options: &Options, min: Option<u32>) -> anyhow::Result<Profile> {
        let metric = quipu_formats::chosen_metric(profile, options).map_err(Failure::usage)?;
        let narrowed = Narrowing::from(self).apply(profile, metric.name()).map_err(Failure::usage)?;
        if narrowed.left_out > 0 {
            eprintln!(
                "quipu: without {} threads of the JVM and of Quipu; --all-threads exports them, too",
                narrowed.left_out
            );
        }
        let profile = narrowed.profile.into_owned();
        let Some(min) = min else { return Ok(profile) };
        let metric = quipu_formats::chosen_metric(&profile, options).map_err(Failure::usage)?;
        Ok(profile.fold_below(metric, f64::from(min) / 100_000.0))
    }
}

impl From<Narrow> for Narrowing {
    fn from(narrow: Narrow) -> Narrowing {
        Narrowing {
            thread: narrow.thread,
            include_threads: narrow.include_threads,
            exclude_threads: narrow.exclude_threads,
            all_threads: narrow.all_threads,
            label: narrow.label,
            java: narrow.java,
            hide: narrow.hide,
        }
    }
}

/// `KEY=VALUE`.
fn label(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').ok_or_else(|| "must be KEY=VALUE".to_owned())?;
    Ok((parts.0.to_owned(), parts.1.to_owned()))
}

/// `0.5` or `0.5%`, in thousandths of a percent.
pub fn percent(text: &str) -> Result<u32, String> {
    let number: Option<f64> = text.trim_end_matches('%').trim_end().parse().ok();
    match number {
        Some(number) if (0.0..=100.0).contains(&number) => Ok((number * 1000.0).round() as u32),
        _ => Err("must be a part of a hundred, like 0.5".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use quipu_profile::{Builder, MethodFlags, MethodSpec, MetricSpec, ThreadSpec, UNKNOWN_SITE};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        narrow: Narrow,
        #[arg(long, value_parser = percent)]
        min: Option<u32>,
    }

    /// Two threads, each with main 10 → A.work 80 → A.tiny 1 → [libc] 9.
    fn profile() -> Profile {
        let mut builder = Builder::new();
        let bytecodes = builder.metric(MetricSpec::bytecodes());
        for name in ["http-1", "pool-1"] {
            let mut node = {
                let thread = builder.thread(ThreadSpec { name, ..ThreadSpec::default() });
                builder.root(thread)
            };
            let java = MethodFlags::NONE;
            for (class, name, flags, value) in [
                ("A", "main", java, 10),
                ("A", "work", java, 80),
                ("A", "tiny", java, 1),
                ("", "write", MethodFlags::FOREIGN, 9),
            ] {
                let method = builder.method(MethodSpec { class, name, flags, ..MethodSpec::default() });
                node = builder.push(node, method, UNKNOWN_SITE);
                builder.add(node, bytecodes, value);
            }
        }
        builder.finish()
    }

    /// What is left: names of threads, and of methods with what each has itself.
    fn left(options: &[&str]) -> (Vec<String>, Vec<(String, u64)>) {
        let line = Line::parse_from([&["export"], options].concat());
        let profile = line.narrow.of(&profile(), &Options::default(), line.min).unwrap();
        let threads = profile.threads().iter().map(|thread| profile.str(thread.name).to_owned());
        let own = profile.metric("bytecodes").unwrap().values();
        let mut methods = std::collections::BTreeMap::new();
        for (node, value) in (0..).zip(own).filter(|(_, value)| **value > 0) {
            if let Some(method) = profile.tree().method(node) {
                let name = profile.str(profile.method(method).name).to_owned();
                *methods.entry(name).or_insert(0) += value;
            }
        }
        (threads.collect(), methods.into_iter().collect())
    }

    fn methods(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
        expected.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn threads_are_chosen() {
        let all = methods(&[("main", 20), ("tiny", 2), ("work", 160), ("write", 18)]);
        assert_eq!(left(&[]), (vec!["http-1".to_owned(), "pool-1".to_owned()], all));
        let one = methods(&[("main", 10), ("tiny", 1), ("work", 80), ("write", 9)]);
        for options in
            [&["--include-threads", "http"][..], &["--exclude-threads", "pool-*"], &["--thread", "http-1"]]
        {
            assert_eq!(left(options), (vec!["http-1".to_owned()], one.clone()), "{options:?}");
        }
    }

    #[test]
    fn what_is_hidden_is_part_of_its_caller() {
        assert_eq!(left(&["--hide", "A.work"]).1, methods(&[("main", 180), ("tiny", 2), ("write", 18)]));
        assert_eq!(left(&["--java"]).1, methods(&[("main", 20), ("tiny", 20), ("work", 160)]));
    }

    /// Nothing is lost: what is too small is part of what called it.
    #[test]
    fn what_is_too_small_is_part_of_its_caller() {
        assert_eq!(left(&["--min", "8"]).1, methods(&[("main", 20), ("work", 180)]));
        // A context has what is below it, too.
        assert_eq!(
            left(&["--min", "4%"]).1,
            methods(&[("main", 20), ("tiny", 2), ("work", 160), ("write", 18)])
        );
        assert!(percent("101").is_err() && percent("-1").is_err() && percent("a").is_err());
    }
}
