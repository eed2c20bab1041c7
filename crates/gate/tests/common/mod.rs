//! Profiles from a few words: a line for each context.
#![allow(dead_code, missing_docs, reason = "shared by several tests")]

use quipu_gate::{Limit, Question, Verdict, gate};
use quipu_profile::{Builder, Line, MethodSpec, MetricSpec, Profile, ThreadSpec, UNKNOWN_SITE};

/// A context: path of `Class.method` with `/`, calls, own bytecodes.
pub type Row<'a> = (&'a str, u64, u64);

/// The main thread's profile.
pub fn profile(rows: &[Row<'_>]) -> Profile {
    threads(&[("main", rows)])
}

/// Every method has the source `Class.java` and a first line that is ten times the length of its name.
pub fn threads(threads: &[(&str, &[Row<'_>])]) -> Profile {
    let mut b = Builder::new();
    b.meta.pins.insert("tests".into(), "all".into());
    let (calls, bytecodes) = (b.metric(MetricSpec::calls()), b.metric(MetricSpec::bytecodes()));
    for (thread, rows) in threads {
        let id = b.thread(ThreadSpec { name: thread, ..Default::default() });
        for (path, called, own) in *rows {
            let mut node = b.root(id);
            for frame in path.split('/') {
                let (class, name) = frame.rsplit_once('.').unwrap();
                let source = format!("{}.java", class.rsplit('.').next().unwrap());
                let first = 10 * name.len() as u32;
                let lines = [Line { bci: 0, line: first }, Line { bci: 4, line: first + 1 }];
                let spec = MethodSpec {
                    class,
                    name,
                    descriptor: "()V",
                    source: &source,
                    lines: &lines,
                    ..Default::default()
                };
                let method = b.method(spec);
                node = b.child(node, method, UNKNOWN_SITE);
            }
            b.add(node, calls, *called);
            b.add(node, bytecodes, *own);
        }
    }
    b.finish()
}

/// Any growth counts, all threads do.
pub fn strict(a: &Profile, b: &Profile) -> Verdict {
    limited(a, b, Limit::default())
}

pub fn limited(a: &Profile, b: &Profile, limit: Limit) -> Verdict {
    ask(a, b, limit, &[]).unwrap()
}

pub fn ask(
    a: &Profile,
    b: &Profile,
    limit: Limit,
    methods: &[&str],
) -> Result<Verdict, quipu_gate::GateError> {
    let methods = methods.iter().map(|&method| method.to_owned()).collect();
    let is_application = |name: &str| !name.ends_with("[class loading]");
    gate(a, b, &Question { metric: None, limit, thread: None, methods, is_application: &is_application })
}

/// `class.method cost` of each culprit.
pub fn named(verdict: &Verdict) -> Vec<String> {
    verdict.culprits.iter().map(|culprit| format!("{} {}", culprit.place.name(), culprit.cost)).collect()
}
