//! Tests of a base class that several subclasses run: each is a test, and one that fails names a place.

use quipu_e2e::{Jdk, jdks};

use crate::project::Project;
use crate::{INSERT, LONGER};

fn newest() -> Jdk {
    jdks::find().into_iter().max_by_key(|jdk| jdk.feature).expect("a JDK")
}

const BASE: &str = "package com.acme;
abstract class BaseTest {
    abstract int count();
    @org.junit.jupiter.api.Test
    void sortsAll() {
        Sorting.sort(Sorting.numbers(count()));
    }
}
";

/// A class that runs the test with so many numbers.
fn subclass(name: &str, count: u32) -> String {
    format!("package com.acme;\nclass {name} extends BaseTest {{ int count() {{ return {count}; }} }}\n")
}

#[test]
fn a_failing_inherited_test_names_a_place() {
    let project = Project::new(&newest());
    let counts = |short: u32, long: u32| {
        project.write("src/test/java/com/acme/ShortTest.java", &subclass("ShortTest", short));
        project.write("src/test/java/com/acme/LongTest.java", &subclass("LongTest", long));
        project.compile();
    };
    let selected = ["-c", "com.acme.ShortTest", "-c", "com.acme.LongTest"];
    project.write("src/test/java/com/acme/BaseTest.java", BASE);
    counts(20, 60);
    let made = project.test_selected(&["--update"], &selected);
    assert_eq!(made.status, Some(0), "{}", made.said);
    let baseline = project.read("quipu-tests.txt");
    for test in ["ShortTest.sortsAll() bytecodes=", "LongTest.sortsAll() bytecodes="] {
        assert!(baseline.contains(&format!("com.acme.{test}")), "{baseline}");
    }
    assert!(!baseline.contains("unstable"), "{baseline}");

    // Both do more, in a line of the program.
    let line = project.edit("src/main/java/com/acme/Sorting.java", &[(INSERT, LONGER)]);
    project.compile();
    let failed = project.test_selected(&[], &selected);
    assert_eq!(failed.status, Some(1), "{}", failed.said);
    let rows = |out: &str| {
        out.lines().filter(|line| line.contains("Test.sortsAll()") && line.contains("FAILED")).count()
    };
    assert_eq!(rows(&failed.out), 2, "{}", failed.said);
    let place = format!("com.acme.Sorting.insert (Sorting.java:{line})");
    assert!(failed.out.contains(&place), "{}", failed.said);
    assert!(failed.out.contains("com.acme.BaseTest.sortsAll > com.acme.Sorting.sort"), "{}", failed.said);
    project.edit("src/main/java/com/acme/Sorting.java", &[(LONGER, INSERT)]);

    // One does more, and another as much less: together, which is how their contexts are kept, they do the same.
    counts(60, 20);
    let swapped = project.test_selected(&[], &selected);
    assert_eq!(swapped.status, Some(1), "{}", swapped.said);
    let row = swapped.out.lines().find(|line| line.contains("ShortTest.sortsAll()")).unwrap_or_default();
    assert!(
        row.contains("FAILED") && row.contains("below com.acme.BaseTest.sortsAll (BaseTest.java:"),
        "{}",
        swapped.said
    );
    assert!(row.contains("where other runs of the same method do less"), "{}", swapped.said);
}
