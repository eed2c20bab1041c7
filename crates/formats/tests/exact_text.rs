//! A profile small enough to check by eye, in the formats that are text.

use quipu_formats::{Format, Limits, Options, Profile, collapsed, export, import};
use quipu_profile::{Builder, Line, MethodFlags, MethodSpec, MetricSpec, ThreadSpec, UNKNOWN_SITE};

/// `main` calls `fact`, which calls itself, which calls a native method.
fn recursion() -> Profile {
    let mut b = Builder::new();
    let calls = b.metric(MetricSpec::calls());
    let bytecodes = b.metric(MetricSpec::bytecodes());
    let lines = [Line { bci: 0, line: 10 }, Line { bci: 5, line: 11 }];
    let spec = MethodSpec { class: "demo.Fact", source: "Fact.java", lines: &lines, ..Default::default() };
    let main = b.method(MethodSpec { name: "main", descriptor: "([Ljava/lang/String;)V", ..spec });
    let fact = b.method(MethodSpec { name: "fact", descriptor: "(I)I", ..spec });
    let flags = MethodFlags::NATIVE;
    let nano =
        b.method(MethodSpec { class: "java.lang.System", name: "nanoTime", flags, ..Default::default() });
    let thread = b.thread(ThreadSpec { name: "main", ..Default::default() });
    let n0 = b.child(b.root(thread), main, UNKNOWN_SITE);
    let n1 = b.child(n0, fact, 5);
    let n2 = b.child(n1, fact, 6);
    let n3 = b.child(n2, nano, 1);
    for (node, c, v) in [(n0, 1, 4), (n1, 2, 30), (n2, 6, 66), (n3, 6, 0)] {
        b.add(node, calls, c);
        b.add(node, bytecodes, v);
    }
    b.finish()
}

fn text(format: Format, metric: &str) -> String {
    let options = Options { metric: Some(metric.to_owned()), ..Options::default() };
    let mut out = Vec::new();
    export(&recursion(), format, &options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn collapsed() {
    let expected = "[main];demo.Fact.main 4\n[main];demo.Fact.main;demo.Fact.fact 30\n\
                    [main];demo.Fact.main;demo.Fact.fact;demo.Fact.fact 66\n";
    assert_eq!(text(Format::Collapsed, "bytecodes"), expected);
    assert!(text(Format::Collapsed, "calls").ends_with(";java.lang.System.nanoTime 6\n"));
}

#[test]
fn callgrind_counts_a_recursive_call_once_per_stack() {
    let expected = "\
events: bytecodes
summary: 100

ob=(1) ???
fl=(1) demo/Fact.java
fn=(1) demo.Fact.fact(I)I
10 96
cob=(1)
cfi=(2) ???
cfn=(3) java.lang.System.nanoTime
calls=6 0
10 0
cob=(1)
cfi=(1)
cfn=(1)
calls=6 10
11 66

ob=(1)
fl=(1)
fn=(2) demo.Fact.main([Ljava/lang/String;)V
10 4
cob=(1)
cfi=(1)
cfn=(1)
calls=2 10
11 96
";
    let written = text(Format::Callgrind, "bytecodes");
    assert!(written.contains(expected), "{written}");
}

#[test]
fn speedscope_opens_and_closes_every_frame() {
    let written: serde_json::Value = serde_json::from_str(&text(Format::Speedscope, "bytecodes")).unwrap();
    let profile = &written["profiles"][0];
    assert_eq!((profile["name"].as_str(), profile["endValue"].as_u64()), (Some("main"), Some(100)));
    let events: Vec<String> = (profile["events"].as_array().unwrap().iter())
        .map(|e| format!("{} {} {}", e["type"].as_str().unwrap(), e["frame"], e["at"]))
        .collect();
    // Frame 0 is `fact`, 1 is `main`; a context without bytecodes has no width.
    assert_eq!(events, ["O 1 0", "O 0 4", "O 0 34", "C 0 100", "C 0 100", "C 1 100"]);
}

#[test]
fn json_has_everything() {
    let written: serde_json::Value = serde_json::from_str(&text(Format::Json, "calls")).unwrap();
    assert_eq!(written["metric"], "calls");
    assert_eq!(written["nodes"]["parent"], serde_json::json!([-1, 0, 1, 2, 3]));
    assert_eq!(written["nodes"]["bci"], serde_json::json!([-1, -1, 5, 6, 1]));
    assert_eq!(written["nodes"]["self"]["bytecodes"], serde_json::json!([0, 4, 30, 66, 0]));
    assert_eq!(written["methods"][2]["native"], true);
    assert_eq!(written["methods"][0]["lines"], serde_json::json!([0, 10, 5, 11]));
}

#[test]
fn an_unknown_metric_is_refused_by_every_format() {
    let options = Options { metric: Some("byte codes".to_owned()), ..Options::default() };
    for format in Format::ALL {
        let error = export(&recursion(), format, &options, &mut Vec::new()).unwrap_err().to_string();
        assert_eq!(error, "no metric is called \"byte codes\"; this profile has bytecodes, calls");
        assert_eq!(Format::from_name(format.name()), Some(format));
    }
}

#[test]
fn collapsed_stacks_that_would_be_too_large_are_folded_and_say_so() {
    let stacks: String = (0..200).map(|n| format!("main;heavy;call{n};leaf {}\n", n + 1)).collect();
    let profile = import::collapsed(stacks.as_bytes(), "samples", &Limits::default()).unwrap();
    let write = |max_bytes| {
        let options = Options { max_bytes, ..Options::default() };
        let mut out = Vec::new();
        export(&profile, Format::Collapsed, &options, &mut out).unwrap();
        (String::from_utf8(out).unwrap(), collapsed::pruned(&profile, &options).unwrap())
    };
    let sum =
        |text: &str| text.lines().map(|l| l.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum::<u64>();
    let (whole, pruned) = write(None);
    assert_eq!((whole.lines().count(), pruned), (200, None));
    assert_eq!(write(Some(whole.len() as u64)), (whole.clone(), None));
    let (small, pruned) = write(Some(1000));
    let pruned = pruned.expect("something is folded");
    assert!(small.len() <= 1000 && small.contains("main;heavy;[small contexts] "), "{small}");
    assert!(small.contains("main;heavy;call199;leaf 200\n"), "the heaviest stay:\n{small}");
    assert_eq!(sum(&small), sum(&whole));
    assert_eq!((pruned.contexts, pruned.bytes), (402, whole.len() as u64));
    assert!(pruned.folded > 300 && pruned.folded < 402);
}
