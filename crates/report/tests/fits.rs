//! Reports fit where they are read: lines end at the edge, and names tell things apart without more than that needs.

mod common;

use common::Maker;
use quipu_profile::{Builder, MethodFlags, MethodSpec, MetricSpec, Profile, ThreadSpec, Unit};
use quipu_report::{By, Options, Style};

fn text(profile: &Profile, by: By, metric: Option<&str>, style: &Style) -> String {
    let options = Options { by, metric: metric.map(str::to_owned), ..Options::default() };
    quipu_report::text(profile, &options, style).unwrap()
}

/// Long names, deep below each other, in several branches at each level.
fn long_names() -> Profile {
    let mut m = Maker::new();
    let package = "com.example.enterprise.framework.integration.infrastructure";
    let mut at = m.thread(&"a thread with a name that goes on and on ".repeat(4), 1);
    for level in 0..40 {
        let class = format!("{package}.AbstractSingletonProxyFactoryBean{level}$Inner");
        let name = format!("operationWithAVeryDescriptiveNameNumber{level}");
        let (deeper, aside) = (m.method(&class, &name, "()V"), m.method(&class, "aside", "()V"));
        m.node(at, aside, 7, 3, 1000);
        at = m.node(at, deeper, 3, 1, 100);
    }
    for extra in 0..6 {
        m.b.metric(MetricSpec::exact(&format!("a.metric.of.its.own.{extra}"), Unit::Count));
    }
    m.b.meta.target.command = vec!["java".into(), "-cp".into(), "x.jar:".repeat(100)];
    m.b.meta.lost.extend((0..30).map(|cause| (format!("walks.cause{cause}"), 1)));
    m.b.finish()
}

#[test]
fn no_line_is_longer_than_the_terminal_is_wide() {
    let profile = long_names();
    for by in [By::Tree, By::Method, By::Callers, By::Callees, By::Edge, By::Class, By::Thread, By::Site] {
        for columns in [60, 80, 100, 200] {
            for unicode in [false, true] {
                let style = Style { colour: false, unicode, width: Some(columns) };
                for line in text(&profile, by, None, &style).lines() {
                    let width = line.chars().count();
                    assert!(width <= columns, "by {} in {columns}: {width}\n{line}", by.as_str());
                }
            }
        }
    }
    // A pipe has a hundred columns.
    assert!(text(&profile, By::Tree, None, &Style::default()).lines().all(|line| line.len() <= 100));
}

#[test]
fn overloads_are_told_apart_and_nothing_else_has_parameters() {
    let mut m = Maker::new();
    let root = m.thread("main", 1);
    let main = m.method("app.Main", "main", "([Ljava/lang/String;)V");
    let at = m.node(root, main, -1, 1, 10);
    for descriptor in
        ["(I[J)V", "(Ljava/util/Map$Entry;)Ljava/lang/Object;", "(Ljava/util/Map$Entry;)Lapp/Main;"]
    {
        let put = m.method("app.Main", "put", descriptor);
        m.node(at, put, 4, 1, 5);
    }
    let profile = m.b.finish();
    for by in [By::Tree, By::Method, By::Edge, By::Callees] {
        let text = text(&profile, by, None, &Style::default());
        for name in ["put(int, long[])\n", "put(Map$Entry): Object\n", "put(Map$Entry): Main\n"] {
            assert!(text.contains(name), "{name} in\n{text}");
        }
        assert!(!text.contains("main("), "{text}");
    }
}

#[test]
fn opaque_is_said_where_bytecodes_are_counted() {
    let mut m = Maker::new();
    let root = m.thread("main", 1);
    let main = m.method("app.Main", "main", "()V");
    let hash = m.method("java.lang.Object", "hashCode", "()I");
    m.b.set_flags(hash, MethodFlags::INTRINSIC);
    let at = m.node(root, main, -1, 1, 10);
    m.node(at, hash, 1, 1, 1);
    let profile = m.b.finish();
    assert!(text(&profile, By::Method, Some("bytecodes"), &Style::default()).contains("hashCode (opaque)"));
    assert!(!text(&profile, By::Method, Some("calls"), &Style::default()).contains("opaque"));
}

#[test]
fn text_has_one_metric_and_names_the_others() {
    let mut b = Builder::new();
    let thread = b.thread(ThreadSpec { name: "main", ..Default::default() });
    let main = b.method(MethodSpec { class: "Main", name: "main", ..Default::default() });
    let node = b.push(b.root(thread), main, -1);
    for (name, value) in [("cpu", 30_000_000), ("cpu.c2", 10_000_000), ("cpu.unknown", 0)] {
        let metric = b.metric(MetricSpec::sampled(name, Unit::Nanoseconds, 10_000_000));
        b.add(node, metric, value);
    }
    let profile = b.finish();
    let one = text(&profile, By::Method, None, &Style::default());
    assert!(one.contains("--metric has also: cpu.c2\n") && !one.contains("cpu.c2 self"), "{one}");
    let two = text(&profile, By::Method, Some("cpu,cpu.c2"), &Style::default());
    assert!(two.contains("cpu self") && two.contains("cpu.c2 self"), "{two}");
}

#[test]
fn packages_of_the_jdk_are_in_their_modules() {
    let mut m = Maker::new();
    let root = m.thread("main", 1);
    for class in ["app.Main", "java.util.HashMap", "java.util.logging.Logger"] {
        let method = m.method(class, "run", "()V");
        m.node(root, method, -1, 1, 5);
    }
    let text = text(&m.b.finish(), By::Module, None, &Style::default());
    for name in ["  java.base\n", "  java.logging\n", "  (not of the JDK)\n"] {
        assert!(text.contains(name), "{name} in\n{text}");
    }
}
