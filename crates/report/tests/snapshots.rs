//! What every report looks like. `cargo insta review`, or `INSTA_UPDATE=always cargo test`, accepts a change.

mod common;

use common::{about, locked, profile, rooted, sample, sampled, survivors};
use quipu_profile::{Builder, Matching, MethodFlags, MethodSpec, MetricSpec, On, Profile, ThreadSpec, Unit};
use quipu_report::{By, DiffOptions, Narrowing, Options, Style};

fn options(by: By) -> Options {
    Options { by, ..Options::default() }
}

fn thread(name: &str) -> Narrowing {
    Narrowing { thread: Some(name.to_owned()), ..Narrowing::default() }
}

/// One that has something to report by that.
fn profile_for(by: By) -> Profile {
    match by {
        By::Allocated | By::Lock | By::Object | By::Gc | By::Timeline | By::Label => about(),
        By::Leak => survivors(),
        By::Root => rooted(),
        _ => profile(),
    }
}

fn text(options: &Options) -> String {
    quipu_report::text(&profile_for(options.by), options, &Style::default()).unwrap()
}

fn json(options: &Options) -> String {
    let text = quipu_report::json(&profile_for(options.by), options).unwrap();
    serde_json::from_str::<serde_json::Value>(&text).expect("valid JSON");
    text
}

#[test]
fn every_report_as_text() {
    for by in By::ALL {
        // The profile has no modules to tell apart; one snapshot less to read.
        if by != By::Module {
            insta::assert_snapshot!(format!("text_{}", by.as_str()), text(&options(by)));
        }
    }
}

#[test]
fn every_report_as_json() {
    for by in By::ALL {
        if by != By::Module {
            insta::assert_snapshot!(format!("json_{}", by.as_str()), json(&options(by)));
        }
    }
}

/// Sites of allocations, heap use of pauses with the rate that follows, and nothing of growth on the timeline.
#[test]
fn sites_and_pauses_of_survivors() {
    for (name, by) in [("site", By::Site), ("gc", By::Gc), ("timeline", By::Timeline)] {
        let text = quipu_report::text(&survivors(), &options(by), &Style::default()).unwrap();
        insta::assert_snapshot!(format!("survivors_text_{name}"), text);
        let json = quipu_report::json(&survivors(), &options(by)).unwrap();
        insta::assert_snapshot!(format!("survivors_json_{name}"), json);
    }
    let error = quipu_report::json(&about(), &options(By::Leak)).unwrap_err().to_string();
    assert!(error.contains("--live"), "{error}");
}

/// What is acquired is known by class, what is waited for by lock: they come together.
#[test]
fn locks_of_a_class_come_together() {
    let text = quipu_report::text(&locked(), &options(By::Lock), &Style::default()).unwrap();
    insta::assert_snapshot!("locked_text_lock", text);
    let json = quipu_report::json(&locked(), &options(By::Lock)).unwrap();
    insta::assert_snapshot!("locked_json_lock", json);
    let inside =
        Options { filter: Some("java.util.concurrent.locks.ReentrantLock".into()), ..options(By::Lock) };
    let json = quipu_report::json(&locked(), &inside).unwrap();
    assert_eq!(json.matches("\"group\":\"java.util.concurrent.locks.ReentrantLock\"").count(), 3, "{json}");
    assert_eq!(json.matches("\"group\"").count(), 3, "{json}");
}

/// A wait of which no stack could be had is a leaf right below its thread; the others of the lock still say who waits for it.
#[test]
fn a_wait_without_a_stack_does_not_hide_who_else_waits() {
    let mut b = Builder::new();
    let time = b.metric(MetricSpec::exact("lock.time", Unit::Nanoseconds));
    let count = b.metric(MetricSpec::exact("lock.count", Unit::Count));
    let thread = b.thread(ThreadSpec { name: "main", ..Default::default() });
    let waiter = MethodSpec { class: "app.Foo", name: "enter", descriptor: "()V", ..Default::default() };
    let lock = MethodSpec {
        class: "app.Lock",
        name: "[lock]",
        descriptor: "@1",
        flags: MethodFlags::DETAIL,
        ..Default::default()
    };
    let (waiter, lock, root) = (b.method(waiter), b.method(lock), b.root(thread));
    let waiter = b.push(root, waiter, -1);
    for parent in [root, waiter] {
        let leaf = b.push(parent, lock, -1);
        b.add(leaf, time, 7);
        b.add(leaf, count, 1);
    }
    let profile = b.finish();
    let json = quipu_report::json(&profile, &options(By::Lock)).unwrap();
    assert!(json.contains("\"waiter\":\"app.Foo.enter\""), "{json}");
}

/// A class of objects is shown in the tree, and is its method's elsewhere.
#[test]
fn what_values_are_about_is_folded_where_methods_are_added_up() {
    let tree = quipu_report::text(&about(), &options(By::Tree), &Style::default()).unwrap();
    assert!(tree.contains("java.lang.String [allocated]"), "{tree}");
    let methods = quipu_report::json(&about(), &options(By::Method)).unwrap();
    assert!(!methods.contains("[allocated]"), "{methods}");
    assert!(methods.contains(r#""alloc.bytes":{"self":9437184"#), "{methods}");
}

#[test]
fn the_shape_in_the_contract() {
    let options =
        Options { narrowing: thread("main"), filter: Some("app.Foo.sum".into()), ..options(By::Method) };
    assert_eq!(
        json(&options).replace('\n', ""),
        r#"{"by":"method","metrics":["calls","bytecodes"],"rows":[{"class":"app.Foo","method":"sum","descriptor":"(II)I","opaque":false,"calls":1,"bytecodes":{"self":10007,"total":14007}}]}"#
    );
}

#[test]
fn on_a_terminal() {
    let style = Style { colour: true, unicode: true, width: Some(90) };
    for by in [By::Tree, By::Method, By::Callers, By::Edge] {
        let out = quipu_report::text(&profile(), &options(by), &style).unwrap();
        insta::assert_snapshot!(format!("terminal_{}", by.as_str()), out.replace('\x1b', "␛"));
    }
}

#[test]
fn narrowed_reports() {
    let tree = Options { filter: Some("HashMap".into()), ..options(By::Tree) };
    insta::assert_snapshot!("tree_through_hashmap", text(&tree));
    let folded = Options { limit: Some(4), ..options(By::Tree) };
    insta::assert_snapshot!("tree_folded", text(&folded));
    insta::assert_snapshot!("tree_folded_json", json(&folded));
    let ratio = Options { metric: Some("bytecodes/calls".into()), limit: Some(3), ..options(By::Method) };
    insta::assert_snapshot!("method_ratio", text(&ratio));
    insta::assert_snapshot!("method_ratio_json", json(&ratio));
    let callers = Options { filter: Some("java.util.HashMap.put".into()), ..options(By::Callers) };
    insta::assert_snapshot!("callers_of_put", text(&callers));
    let callees = Options { filter: Some("app.Foo.main".into()), ..options(By::Callees) };
    insta::assert_snapshot!("callees_of_main", text(&callees));
}

#[test]
fn two_profiles() {
    let (a, b) = (profile(), sample(4));
    let diff = DiffOptions::default();
    insta::assert_snapshot!("diff_text", quipu_report::diff_text(&a, &b, &diff, &Style::default()).unwrap());
    insta::assert_snapshot!("diff_json", quipu_report::diff_json(&a, &b, &diff).unwrap());
    insta::assert_snapshot!("diff_same", quipu_report::diff_text(&a, &a, &diff, &Style::default()).unwrap());
    let contexts = DiffOptions { contexts: true, limit: Some(2), ..diff };
    insta::assert_snapshot!("diff_contexts_json", quipu_report::diff_json(&a, &b, &contexts).unwrap());
    let overlap = |a, b, on| quipu_report::overlap_json(a, b, on, None, Matching::default()).unwrap();
    assert_eq!(
        overlap(&a, &a, On::Context),
        "{\"on\":\"context\",\"metric\":\"bytecodes\",\"overlap\":100.0}\n"
    );
    insta::assert_snapshot!("overlap_json", overlap(&a, &b, On::Method));
    let text = quipu_report::overlap_text(&a, &b, On::Edge, Some("calls"), Matching::default()).unwrap();
    assert_eq!(text, "100.00 % of calls by edge\n");
}

#[test]
fn errors_say_what_would_be_right() {
    let p = profile();
    let error = |options: &Options| quipu_report::json(&p, options).unwrap_err().to_string();
    let metric = Options { metric: Some("bytecode".into()), ..options(By::Method) };
    assert_eq!(error(&metric), "no metric bytecode; did you mean bytecodes?");
    let thread = Options { narrowing: thread("mian"), ..options(By::Tree) };
    assert_eq!(error(&thread), "no thread mian; did you mean main?");
    let method = Options { filter: Some("Foo.summ".into()), ..options(By::Callers) };
    assert_eq!(error(&method), "no method Foo.summ; did you mean app.Foo.sum?");
    let nothing = Options { metric: Some("zzzzzzzz".into()), ..options(By::Method) };
    assert_eq!(error(&nothing), "no metric zzzzzzzz; there is calls, bytecodes");
    assert_eq!("tre".parse::<By>().unwrap_err().to_string(), "no report tre; did you mean tree?");
}

#[test]
fn profiles_without_a_common_metric_say_what_each_has() {
    let (a, b) = (profile(), sampled(1));
    let says = "the profiles measure different things: the first has calls, bytecodes, the second has samples.calls, samples.cpu";
    let diff = quipu_report::diff_text(&a, &b, &DiffOptions::default(), &Style::default());
    assert_eq!(diff.unwrap_err().to_string(), says);
    let wanted = DiffOptions { metric: Some("calls".into()), ..DiffOptions::default() };
    assert_eq!(quipu_report::diff_json(&a, &b, &wanted).unwrap_err().to_string(), says);
    let mut wall = quipu_profile::Builder::new();
    wall.metric(quipu_profile::MetricSpec::sampled("wall", quipu_profile::Unit::Nanoseconds, 1));
    let overlap = quipu_report::overlap_text(&a, &wall.finish(), On::Context, None, Matching::default());
    assert!(overlap.unwrap_err().to_string().ends_with("has calls, bytecodes, the second has wall"));
}

#[test]
fn what_is_lost_is_told_in_words() {
    let mut p = profile();
    p.meta.lost.insert("walks.continuation".into(), 12);
    p.meta.lost.insert("walks.thread-exit".into(), 1);
    let text = quipu_report::text(&p, &options(By::Method), &Style::default()).unwrap();
    let says = "not in it: 12 stacks of virtual threads being mounted, 1 stack of a thread that was ending\n";
    assert!(text.contains(says), "{text}");
}

#[test]
fn estimates_come_with_their_errors() {
    let p = sampled(1);
    for by in [By::Tree, By::Method, By::Edge] {
        let text = quipu_report::text(&p, &options(by), &Style::default()).unwrap();
        insta::assert_snapshot!(format!("sampled_{}", by.as_str()), text);
    }
    insta::assert_snapshot!("sampled_json", quipu_report::json(&p, &options(By::Method)).unwrap());
    let (a, b) = (sampled(1), sampled(2));
    let diff = DiffOptions::default();
    insta::assert_snapshot!(
        "sampled_diff",
        quipu_report::diff_text(&a, &b, &diff, &Style::default()).unwrap()
    );
    let overlap = quipu_report::overlap_text(&a, &b, On::Method, None, Matching::default()).unwrap();
    assert_eq!(overlap, "89.28 % of samples.cpu by method; sampling alone would leave about 97.9 %\n");
    let json = quipu_report::overlap_json(&a, &a, On::Method, None, Matching::default()).unwrap();
    assert!(
        json.starts_with("{\"on\":\"method\",\"metric\":\"samples.cpu\",\"overlap\":100.0,\"expected\":")
    );
}
