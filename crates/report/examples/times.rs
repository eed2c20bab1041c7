//! Times every report on a profile, as text and as JSON with a limit of 100 rows.
//!
//! `cargo run --release -p quipu-report --example times FILE.quipu [SHOW]`
//!
//! With SHOW, the name of a report, that one is written out as a terminal would get it.

use quipu_profile::Profile;
use quipu_report::{By, Options, Style};
use std::time::Instant;

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    println!("{what:<16} {:>8.3} s", start.elapsed().as_secs_f64());
    result
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("a profile");
    let profile = timed("load", || Profile::load(&path)).unwrap_or_else(|error| panic!("{error}"));
    println!("{} nodes, {} methods", profile.tree().len(), profile.methods().len());
    if let Some(name) = arguments.next() {
        let options = Options { by: name.parse().expect("a report"), ..Options::default() };
        let style = Style { colour: true, unicode: true, width: Some(120) };
        print!(
            "{}",
            quipu_report::text(&profile, &options, &style).unwrap_or_else(|error| panic!("{error}"))
        );
        return;
    }
    for by in By::ALL {
        let options = Options { by, ..Options::default() };
        let text = timed(by.as_str(), || quipu_report::text(&profile, &options, &Style::default()));
        let json = Options { limit: Some(100), ..options };
        let json = timed("  as JSON", || quipu_report::json(&profile, &json));
        if let (Err(error), _) | (_, Err(error)) = (text, json) {
            println!("  {error}");
        }
    }
    let metric = profile.main_metric().expect("a metric").name().to_owned();
    timed("diff with itself", || {
        let same =
            quipu_profile::diff(&profile, &profile, &metric, quipu_profile::By::Method, Default::default());
        assert!(same.expect("the same metrics").is_same());
    });
    timed("bottom-up, 3", || profile.invert(Some(3)));
    timed("merge threads", || profile.merge_threads());
    timed("collapse", || profile.collapse_recursion());
}
