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
