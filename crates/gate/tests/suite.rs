//! Tests found in a profile, and where two runs of one part.
#![allow(missing_docs, reason = "tests say what they test by their names")]

use quipu_gate::suite::{self, Work};
use quipu_gate::{Limit, Verdict};
use quipu_profile::{Builder, MethodSpec, MetricSpec, NodeId, Profile, ThreadSpec, UNKNOWN_SITE};

/// A profile of a JVM that ran two tests; `rounds` is how often the second one's loop calls something.
fn profile(rounds: u64) -> Profile {
    let mut builder = Builder::new();
    let notes = [
        "method\ta.FirstTest\tadds\t()V\ta.FirstTest\t\t\t60\t5\t1",
        "dynamic\ta.FirstTest\tall\t()Ljava/util/List;\ta.FirstTest\t2\ttwo\t120\t10\t0",
        "dynamic\ta.FirstTest\tall\t()Ljava/util/List;\ta.FirstTest\t1\tone\t60\t5\t0",
        "method\ta.FirstTest\tdamaged",
    ];
    builder.meta.extra = notes.map(|note| ("test".to_owned(), note.to_owned())).to_vec();
    let (calls, bytecodes) = (builder.metric(MetricSpec::calls()), builder.metric(MetricSpec::bytecodes()));
    let thread = builder.thread(ThreadSpec { name: "main", ..ThreadSpec::default() });
    let mut node = |parent: Option<NodeId>, class, name, counts: [u64; 2]| {
        let method = builder.method(MethodSpec { class, name, descriptor: "()V", ..MethodSpec::default() });
        let parent = parent.unwrap_or(builder.root(thread));
        let node = builder.push(parent, method, UNKNOWN_SITE);
        builder.add(node, calls, counts[0]);
        builder.add(node, bytecodes, counts[1]);
        Some(node)
    };
    let engine = node(None, "org.Engine", "execute", [2, 500]);
    node(engine, "a.FirstTest", "<init>", [2, 10]);
    node(engine, "a.FirstTest", "setUp", [2, 10]);
    node(engine, "a.FirstTest", "all", [1, 7]);
    let test = node(engine, "a.FirstTest", "adds", [1, 20]);
    let add = node(test, "a.Sum", "add", [4, 40]);
    node(add, "java.lang.System", "nanoTime", [0, 0]);
    // A class that the test is the first to use.
    let initialiser = node(test, "a.Sum", "<clinit>", [1, 1000]);
    node(initialiser, "a.Sum", "table", [1, 3000]);
    let made = node(engine, "a.FirstTest", "lambda$all$0", [3, 30]);
    let again = node(made, "a.FirstTest", "adds", [3, 60]);
    node(again, "a.Sum", "add", [rounds, 10 * rounds]);
    builder.finish()
}

#[test]
fn a_test_is_what_is_below_its_method_without_initialisers() {
    let tests = suite::of_tests(&profile(9));
    let works = suite::works(&tests);
    assert_eq!(works.len(), 3, "{works:?}");
    let adds = Work { runs: 1, bytecodes: 60, calls: 5, allocations: Some(1) };
    assert_eq!(works["a.FirstTest.adds()"], adds);
    assert_eq!(works["a.FirstTest.all()[2: two]"].bytecodes, 120);
    let trees = suite::trees(&tests);
    assert_eq!(trees["a.FirstTest.all()[1: one]"], "a.FirstTest.all()");
    let names: Vec<&str> = tests.threads().iter().map(|thread| tests.str(thread.name)).collect();
    assert_eq!(
        names,
        ["a.FirstTest.adds()", "a.FirstTest.adds() [class initialisation]", "a.FirstTest.all()"]
    );
    assert_eq!(
        tests.metric("bytecodes").expect("bytecodes").total(),
        // Called by a test, a test's method is part of that one.
        60 + 4000 + (30 + 60 + 90),
        "the engine is not in it"
    );
}

#[test]
fn two_runs_part_at_the_outermost_difference() {
    let (first, second) = (suite::of_tests(&profile(9)), suite::of_tests(&profile(11)));
    assert_eq!(suite::parting(&first, &second, "a.FirstTest.adds()"), None);
    let parting = suite::parting(&first, &second, "a.FirstTest.all()[1: one]").expect("a difference");
    assert_eq!(
        parting.sentence(),
        "a.FirstTest.lambda$all > a.FirstTest.adds > a.Sum.add: 9 calls in one run, 11 in the other"
    );
}

#[test]
fn a_test_that_asks_for_the_time_is_known() {
    let tests = suite::of_tests(&profile(9));
    assert!(suite::reads_clock(&tests, "a.FirstTest.adds()"));
    assert!(!suite::reads_clock(&tests, "a.FirstTest.all()[1: one]"));
    assert!(!suite::reads_clock(&tests, "a.FirstTest.other()"));
}

#[test]
fn tests_run_one_after_the_other_unless_the_agent_saw_more() {
    let mut profile = profile(1);
    assert_eq!(suite::at_once(&profile), 1);
    let note = |most: &str| ("tests at once".to_owned(), most.to_owned());
    profile.meta.extra.extend([note("2"), note("10"), note("x")]);
    assert_eq!(suite::at_once(&profile), 10);
    profile.meta.extra.clear();
    assert_eq!(suite::at_once(&profile), 0);
}

/// The profile with other numbers of bytecodes for the runs of `all()`: what each did, of the same contexts.
fn with_numbers(one: u64, two: u64) -> Profile {
    let mut profile = suite::of_tests(&profile(9));
    for (_, note) in &mut profile.meta.extra {
        *note = note.replace("one\t60", &format!("one\t{one}")).replace("two\t120", &format!("two\t{two}"));
    }
    profile
}

const ONE_LESS: &str = "jvm: A\na.FirstTest.all()[1: one] bytecodes=40 calls=5\na.FirstTest.all()[2: two] bytecodes=140 calls=10\n";

fn judged(text: &str, new: &Profile) -> Verdict {
    let baseline = suite::Baseline::parse(text).expect("a baseline");
    suite::judge(&baseline, &suite::works(new), "bytecodes", Limit::DEFAULT)
}

/// Contexts of all runs of a method are in one tree: what one does more, another does less.
#[test]
fn a_failing_test_names_a_place_though_its_runs_together_do_the_same() {
    let tests = suite::of_tests(&profile(9));
    let mut verdict = judged(ONE_LESS, &tests);
    let stale = suite::explain(&mut verdict, &with_numbers(40, 140), &tests).expect("an explanation");
    assert!(stale.is_empty(), "{stale:?}");
    let failed: Vec<_> = verdict.failed().collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(verdict.culprits.is_empty());
    let note = failed[0].note.as_deref().unwrap_or_default();
    assert!(note.contains("below a.FirstTest.lambda$all") && note.contains("other runs"), "{note}");
    assert!(quipu_gate::text(&verdict).contains(note) && quipu_gate::json(&verdict).contains(note));
}

/// As after a merge: the text has lines of both sides, the contexts are of one.
#[test]
fn a_stale_number_takes_no_place_from_other_tests() {
    let new = suite::of_tests(&profile(19));
    let text =
        "jvm: A\na.FirstTest.adds() bytecodes=9 calls=5\na.FirstTest.all()[1: one] bytecodes=40 calls=5\n";
    let mut verdict = judged(text, &new);
    assert_eq!(verdict.failed().count(), 2);
    let stale = suite::explain(&mut verdict, &with_numbers(40, 120), &new).expect("an explanation");
    assert_eq!(stale.iter().collect::<Vec<_>>(), ["a.FirstTest.adds()"]);
    let place = verdict.culprits.first().expect("the place of the other").place.name();
    assert_eq!(place, "a.FirstTest.adds");
    let notes = verdict.failed().map(|subject| subject.note.is_some());
    assert_eq!(notes.collect::<Vec<_>>(), [true, false]);
    assert!(
        quipu_gate::text(&verdict).contains("FAILED: where is not known"),
        "{}",
        quipu_gate::text(&verdict)
    );

    // The same run by another text is no other test.
    let renamed = text.replace("[1: one]", "[1: uno]").replace("bytecodes=9", "bytecodes=60");
    let mut verdict = judged(&renamed, &new);
    let mut old = with_numbers(40, 120);
    old.meta.extra.iter_mut().for_each(|(_, note)| *note = note.replace("\tone\t", "\tuno\t"));
    assert!(suite::explain(&mut verdict, &old, &new).expect("an explanation").is_empty());
    assert!(!verdict.culprits.is_empty());
}

#[test]
fn how_closely_was_looked_is_no_difference_and_what_was_counted_is() {
    let with = |options: &[&str]| {
        let mut profile = suite::of_tests(&profile(9));
        profile.meta.options = options.iter().map(|&option| (option.to_owned(), String::new())).collect();
        profile
    };
    let (numbers, lines) = (with(&["allocations"]), with(&["blocks", "sites"]));
    assert_eq!(suite::differences(&numbers, &lines), Vec::<String>::new());
    assert_eq!(quipu_gate::differences(&numbers, &lines).len(), 3);
    assert_eq!(suite::differences(&numbers, &with(&["include"])).len(), 1);
}

#[test]
fn directories_threads_and_budgets_are_told() {
    let mut profile = profile(9);
    let method = "method\ta.FirstTest\tadds\t()V\ta.FirstTest\t\t";
    let note = |key: &str, rest: &str| (key.to_owned(), format!("{method}\t{rest}"));
    profile.meta.extra = vec![
        note("test", "60\t5\t1\t3\t/src/project/parts/one"),
        note("test", "90\t5\t1\t0\t/src/project"),
        note("test", "90\t5\t1\t0\t/src/projects"),
        note("budget", "50\t9\t9\t/src/project/parts/one"),
        note("budget", "90\t9\t9\t/src/project"),
    ];
    suite::relative_to(&mut profile, "/src/project");
    let works = suite::works(&profile);
    let names = ["/src/projects/a.FirstTest.adds()", "a.FirstTest.adds()", "parts/one/a.FirstTest.adds()"];
    assert_eq!(works.keys().collect::<Vec<_>>(), names);
    assert_eq!(suite::threads_started(&profile).into_iter().collect::<Vec<_>>(), [(names[2].to_owned(), 3)]);
    let beyond = "parts/one/a.FirstTest.adds() did 60 bytecodes; its budget is 50";
    assert_eq!(suite::beyond_budget(&profile), [beyond]);
    assert_eq!(suite::selectors(&profile)[names[2]], "a.FirstTest#adds");
}
