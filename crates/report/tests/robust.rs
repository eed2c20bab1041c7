//! Reports of profiles nobody would draw on a whiteboard.

mod common;

use common::{Maker, profile};
use quipu_profile::{Builder, Contents, MetricSpec, Profile, Unit};
use quipu_report::{By, Options, ReportError, Style};

const STYLES: [Style; 2] = [
    Style { colour: false, unicode: false, width: None },
    Style { colour: true, unicode: true, width: Some(60) },
];

/// Every report in every form; what cannot be reported must say why.
fn all(profile: &Profile) -> Vec<String> {
    let mut out = Vec::new();
    for by in By::ALL {
        let options = Options { by, ..Options::default() };
        for style in &STYLES {
            out.extend(quipu_report::text(profile, &options, style).map_err(accept));
        }
        let json = quipu_report::json(profile, &options).map_err(accept);
        if let Ok(json) = &json {
            let value: serde_json::Value = serde_json::from_str(json).unwrap();
            assert_eq!(value["by"], by.as_str());
            assert!(value["rows"].is_array() && value["metrics"].is_array());
        }
        out.extend(json);
    }
    out
}

fn accept(error: ReportError) {
    assert!(
        matches!(
            error,
            ReportError::NoLines
                | ReportError::NoSites
                | ReportError::NoLabels
                | ReportError::NoMetrics
                | ReportError::Nothing { .. }
        ),
        "{error}"
    );
}

#[test]
fn empty_profiles() {
    assert!(all(&Builder::new().finish()).is_empty());
    let mut b = Builder::new();
    b.metric(MetricSpec::calls());
    assert!(!all(&b.finish()).is_empty());
    let only_thread = {
        let mut m = Maker::new();
        m.thread("idle", 1);
        m.b.finish()
    };
    assert!(!all(&only_thread).is_empty());
}

#[test]
fn a_path_of_a_hundred_thousand_frames() {
    let mut m = Maker::new();
    let mut at = m.thread("deep", 1);
    let methods = [m.method("a.A", "f", "()V"), m.method("a.B", "g", "()V")];
    for depth in 0..100_000 {
        at = m.node(at, methods[depth % 2], 1, 1, u64::from(depth % 1000 == 0));
    }
    let deep = m.b.finish();
    let reports = all(&deep);
    let longest = reports
        .iter()
        .filter(|text| !text.starts_with('{'))
        .flat_map(|text| text.lines())
        .map(str::len)
        .max();
    assert!(longest < Some(300), "{longest:?}");
    let many = Options { limit: Some(5000), ..Options::default() };
    quipu_report::text(&deep, &many, &STYLES[1]).unwrap();
}

#[test]
fn the_largest_counts() {
    let mut m = Maker::new();
    let (f, g) = (m.method("A", "f", "()V"), m.method("A", "g", "()V"));
    let root = m.thread("main", u64::MAX);
    let node = m.node(root, f, 3, u64::MAX, u64::MAX);
    m.node(node, g, 65_535, u64::MAX, u64::MAX);
    let reports = all(&m.b.finish());
    assert!(reports.iter().any(|text| text.contains("18446744073709551615")), "JSON has exact integers");
}

#[test]
fn names_cannot_talk_to_the_terminal() {
    let mut m = Maker::new();
    let evil = m.method("\x1b]0;owned\x07.Evil\r\n", "\u{202e}gnp.exe", "()V");
    let root = m.thread("\x1b[2J", 1);
    m.node(root, evil, -1, 1, 10);
    let p = m.b.finish();
    for text in all(&p).iter().filter(|text| !text.contains("\x1b[0m") && !text.starts_with('{')) {
        assert!(!text.contains(['\x1b', '\r', '\u{202e}', '\x07']), "{text:?}");
    }
    for text in all(&p) {
        let escapes = text.matches('\x1b').count();
        assert_eq!(
            escapes,
            text.matches("\x1b[0m").count()
                + ["1m", "2m", "31m", "32m", "33m"]
                    .iter()
                    .map(|c| text.matches(&format!("\x1b[{c}")).count())
                    .sum::<usize>()
        );
    }
}

#[test]
fn sampled_metrics_state_their_error() {
    let mut b = Builder::new();
    let cpu = b.metric(MetricSpec::sampled("samples.cpu", Unit::Nanoseconds, 1_000_000));
    let thread = b.thread(Default::default());
    let root = b.root(thread);
    b.add(root, cpu, 400_000_000);
    let text = quipu_report::text(&b.finish(), &Options { by: By::Thread, ..Default::default() }, &STYLES[0])
        .unwrap();
    assert!(text.starts_with("samples.cpu 400.00 ms (400 samples, +-5.0 %), 1 thread"), "{text}");
}

#[test]
fn json_rows_add_up_to_the_profile() {
    let p = profile();
    for by in [By::Tree, By::Method, By::Class, By::Package, By::Module, By::Thread, By::Callers] {
        let json = quipu_report::json(&p, &Options { by, ..Default::default() }).unwrap();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        let rows = value["rows"].as_array().unwrap();
        let sum = |get: &dyn Fn(&serde_json::Value) -> u64| rows.iter().map(get).sum::<u64>();
        assert_eq!(sum(&|row| row["calls"].as_u64().unwrap()), p.metric("calls").unwrap().total(), "{by:?}");
        let bytecodes = sum(&|row| row["bytecodes"]["self"].as_u64().unwrap());
        assert_eq!(bytecodes, p.metric("bytecodes").unwrap().total(), "{by:?}");
    }
}

#[test]
fn reports_do_not_depend_on_the_way_through_a_file() {
    let p = profile();
    let again = Profile::from_bytes(&p.to_bytes(Contents::All)).unwrap();
    assert_eq!(all(&p), all(&again));
}
