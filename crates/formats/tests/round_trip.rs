//! What a format can carry comes back.

mod common;

use proptest::prelude::*;
use quipu_formats::{Format, Limits, Options, Profile, export, import};
use quipu_profile::{
    Builder, Line, MethodSpec, MetricSpec, NO_BCI, NodeId, Sample, ThreadKind, ThreadSpec, UNKNOWN_SITE, Unit,
};

fn exported(profile: &Profile, format: Format, options: &Options) -> Vec<u8> {
    let mut out = Vec::new();
    export(profile, format, options, &mut out).unwrap();
    out
}

fn through_pprof(profile: &Profile) -> Profile {
    let bytes = exported(profile, Format::Pprof, &Options::default());
    import::pprof(&bytes, &Limits::default()).unwrap()
}

fn through_collapsed(profile: &Profile) -> Profile {
    let bytes = exported(profile, Format::Collapsed, &Options::default());
    import::collapsed(&bytes[..], "bytecodes", &Limits::default()).unwrap()
}

/// Every context with values, as text: (thread, frames with call lines, values).
fn contexts(profile: &Profile, lines: bool) -> Vec<(String, Vec<String>, Vec<u64>)> {
    let tree = profile.tree();
    let mut found = Vec::new();
    for node in 0..tree.len() as NodeId {
        let values: Vec<u64> = profile.metrics().iter().map(|m| m.values()[node as usize]).collect();
        if values.iter().all(|&value| value == 0) {
            continue;
        }
        let path = tree.path(node);
        let frames = path
            .iter()
            .enumerate()
            .map(|(i, &at)| {
                let method = tree.method(at).unwrap();
                let line = path.get(i + 1).and_then(|&callee| tree.site(callee));
                let line = line.and_then(|bci| profile.method(method).line_at(bci)).filter(|_| lines);
                format!("{} {line:?}", profile.method_name(method))
            })
            .collect();
        let thread = &profile.threads()[profile.thread_of(node) as usize];
        found.push((profile.str(thread.name).to_owned(), frames, values));
    }
    // Contexts that the format cannot tell apart add up.
    found.sort();
    found.dedup_by(|b, a| {
        let same = a.0 == b.0 && a.1 == b.1;
        if same {
            a.2.iter_mut().zip(&b.2).for_each(|(sum, value)| *sum += value);
        }
        same
    });
    found
}

#[test]
fn pprof_carries_stacks_lines_metrics_and_threads() {
    let shop = common::shop(3_000);
    let back = through_pprof(&shop);
    assert_eq!(contexts(&shop, true), contexts(&back, true));
    let specs = |p: &Profile| p.metrics().iter().map(|m| m.spec().clone()).collect::<Vec<_>>();
    assert_eq!(specs(&shop), specs(&back));
    let describe = |p: &Profile| -> Vec<String> {
        p.methods()
            .iter()
            .map(|m| {
                [m.class, m.name, m.descriptor, m.source, m.module].map(|id| p.str(id).to_owned()).join("|")
            })
            .collect()
    };
    assert_eq!(describe(&shop), describe(&back));
    assert_eq!((shop.run.started, shop.run.duration), (back.run.started, back.run.duration));
    // Once lines stand for call sites, nothing changes any more.
    assert_eq!(through_pprof(&back), back);
}

#[test]
fn collapsed_carries_stacks_and_one_metric() {
    let shop = common::shop(3_000);
    let back = through_collapsed(&shop);
    let id = shop.metric_id("bytecodes").unwrap() as usize;
    let mut expected = contexts(&shop, false);
    expected.iter_mut().for_each(|context| context.2 = vec![context.2[id]]);
    expected.retain(|context| context.2[0] > 0);
    assert_eq!(expected, contexts(&back, false));
    assert_eq!(through_collapsed(&back), back);
}

#[test]
fn a_recursion_of_100_000_frames_is_exported_by_all() {
    let deep = common::deep(100_000);
    // Directives go by calls, unless told otherwise.
    let options = Options { metric: Some(deep.metrics()[0].name().to_owned()), ..Options::default() };
    for format in Format::ALL {
        assert!(!exported(&deep, format, &options).is_empty(), "{}", format.name());
    }
    for back in [through_pprof(&deep), through_collapsed(&deep)] {
        assert_eq!(back.metrics()[0].total(), 700_000);
        assert_eq!(back.tree().len(), 1 + 2048 + 1);
    }
}

#[test]
fn a_long_stack_comes_back_whole_when_asked() {
    let mut b = Builder::new();
    let metric = b.metric(MetricSpec::bytecodes());
    let f = b.method(MethodSpec { class: "A", name: "f", ..Default::default() });
    let thread = b.thread(ThreadSpec { name: "main", ..Default::default() });
    let mut node = b.root(thread);
    for _ in 0..100_000 {
        node = b.push(node, f, UNKNOWN_SITE);
    }
    b.add(node, metric, 9);
    let deep = b.finish();
    let options = Options { max_depth: u32::MAX, ..Options::default() };
    let bytes = exported(&deep, Format::Collapsed, &options);
    let back = import::collapsed(&bytes[..], "bytecodes", &Limits::default()).unwrap();
    assert_eq!(back.tree().len(), 100_001);
    let back = import::pprof(&exported(&deep, Format::Pprof, &options), &Limits::default()).unwrap();
    assert_eq!(back.tree().len(), 100_001);
}

#[test]
fn hostile_names_cannot_forge_stacks() {
    let hostile = common::hostile();
    let total = hostile.metric("bytecodes").unwrap().total();
    assert_eq!(through_collapsed(&hostile).metrics()[0].total(), total);
    let back = through_pprof(&hostile);
    assert_eq!(back.metric("bytecodes").unwrap().total(), total);
    let page = String::from_utf8(exported(&hostile, Format::Html, &Options::default())).unwrap();
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains("<img") && !page.contains("<!--"));
}

#[test]
fn the_same_profile_is_the_same_bytes() {
    let shop = common::shop(500);
    for format in Format::ALL {
        let first = exported(&shop, format, &Options::default());
        assert!(first == exported(&shop.clone(), format, &Options::default()), "{}", format.name());
    }
}

fn profiles() -> impl Strategy<Value = Profile> {
    let stack = proptest::collection::vec((0usize..6, 0u32..4), 1..8);
    let stacks = proptest::collection::vec((0usize..3, stack, 1u64..1 << 40, 0u64..9), 1..40);
    stacks.prop_map(|stacks| {
        let mut b = Builder::new();
        let bytecodes = b.metric(MetricSpec::bytecodes());
        let wait = b.metric(MetricSpec::sampled("wait", Unit::Nanoseconds, 250));
        let lines: Vec<Line> = (0..4).map(|i| Line { bci: 2 * i, line: 10 + i }).collect();
        let methods: Vec<u32> = ["a.A.f", "a.A.<init>", "a.B$1.g", "b.C.f", "D.main", "E.run"]
            .iter()
            .map(|name| {
                let (class, name) = name.rsplit_once('.').unwrap();
                b.method(MethodSpec { class, name, descriptor: "()V", lines: &lines, ..Default::default() })
            })
            .collect();
        let kinds = [ThreadKind::Platform, ThreadKind::Virtual];
        let threads: Vec<u32> = (0..3)
            .map(|i| {
                let kind = kinds[i % 2];
                let labels = [("tenant", ["x", "y"][i % 2])];
                let name = ["main", "pool-1", "io;1"][i];
                b.thread(ThreadSpec { name, kind, labels: &labels, ..Default::default() })
            })
            .collect();
        for (thread, stack, value, waited) in stacks {
            let mut node = b.root(threads[thread]);
            let mut site = UNKNOWN_SITE;
            for (method, bci) in stack {
                node = b.child(node, methods[method], site);
                site = 2 * bci as i32;
            }
            b.add(node, bytecodes, value);
            b.add(node, wait, waited * 250);
        }
        b.finish()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_profile_through_pprof(profile in profiles()) {
        let back = through_pprof(&profile);
        prop_assert_eq!(contexts(&profile, true), contexts(&back, true));
        let kinds = |p: &Profile| -> Vec<_> {
            let used = |t: &&quipu_profile::Thread| p.tree().end(t.root) > t.root + 1;
            let labels = |t: &quipu_profile::Thread| t.labels.iter().map(|l| p.str(l.1).to_owned()).collect::<Vec<_>>();
            p.threads().iter().filter(used).map(|t| (p.str(t.name).to_owned(), t.kind, labels(t))).collect()
        };
        prop_assert_eq!(kinds(&profile), kinds(&back));
    }

    #[test]
    fn any_profile_through_collapsed(profile in profiles()) {
        let back = through_collapsed(&profile);
        let total = profile.metric("bytecodes").unwrap().total();
        prop_assert_eq!(back.metrics()[0].total(), total);
        prop_assert_eq!(through_collapsed(&back), back);
    }
}

#[test]
fn pprof_and_json_carry_the_labels_of_samples() {
    let mut b = Builder::new();
    let cpu = b.metric(MetricSpec::sampled("samples.cpu", Unit::Nanoseconds, 10));
    let calls = b.metric(MetricSpec::calls());
    let method = b.method(MethodSpec { class: "A", name: "f", ..Default::default() });
    let thread = b.thread(ThreadSpec { name: "worker", ..Default::default() });
    let node = b.child(b.root(thread), method, UNKNOWN_SITE);
    b.add(node, calls, 9);
    for time in 0..6 {
        let labels = b.labels(if time < 4 { &[("request", "/a")] } else { &[] });
        b.add(node, cpu, 10);
        b.sample(Sample { time, thread, node, metric: cpu, value: 10, labels, bci: NO_BCI });
    }
    let profile = b.finish();
    let back = through_pprof(&profile);
    for (before, after) in profile.metrics().iter().zip(back.metrics()) {
        assert_eq!((before.spec(), before.total()), (after.spec(), after.total()));
    }
    let part = back.select_label("request", "/a");
    assert_eq!((part.metric("samples.cpu").unwrap().total(), part.metric("calls").unwrap().total()), (40, 0));
    assert_eq!(part, through_pprof(&profile.select_label("request", "/a")));
    let json = String::from_utf8(exported(&profile, Format::Json, &Options::default())).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["samples"]["labels"], serde_json::json!([1, 1, 1, 1, 0, 0]));
    assert_eq!(value["samples"]["label_sets"], serde_json::json!([[], [["request", "/a"]]]));
}
