//! Tests whose work depends on the tests that run before them: the tool finds that out by itself, and says so.

use quipu_e2e::{Jdk, jdks};

use crate::project::Project;

/// Who fills a cache does not depend on the JDK.
fn newest() -> Jdk {
    jdks::find().into_iter().max_by_key(|jdk| jdk.feature).expect("a JDK")
}

const KEPT: &str = "package com.acme;
import java.util.ArrayList;
import java.util.List;
final class Kept {
    static final List<Integer> LEFT = new ArrayList<>();
    private static long[] table;
    static void leave(int times) {
        for (int i = 0; i < times; i++) {
            LEFT.add(i);
        }
    }
    static long total() {
        long sum = 0;
        for (int i = 0; i < 100; i++) {
            sum += i;
        }
        for (int left : LEFT) {
            sum += left;
        }
        return sum;
    }
    static long square(int n) {
        if (table == null) {
            table = new long[1000];
            for (int i = 0; i < table.length; i++) {
                table[i] = (long) i * i;
            }
        }
        return table[n];
    }
}
";

/// A test class with one test, which runs before those whose names come later.
fn test_class(name: &str, test: &str, body: &str) -> String {
    format!("package com.acme;\nclass {name} {{ @org.junit.jupiter.api.Test void {test}() {{ {body} }} }}\n")
}

/// A project in which classes run in this order.
fn project() -> Project {
    let project = Project::new(&newest());
    project.write("src/test/java/com/acme/Kept.java", KEPT);
    project
        .write("src/test/java/com/acme/BTotalTest.java", &test_class("BTotalTest", "adds", "Kept.total();"));
    project.write(
        "src/test/java/com/acme/CTableTest.java",
        &test_class("CTableTest", "squares", "Kept.square(7);"),
    );
    project
}

/// The line about a test.
fn about<'a>(said: &'a str, test: &str) -> &'a str {
    let name = format!("quipu: com.acme.{test} does");
    said.lines().find(|line| line.starts_with(&name)).unwrap_or_default()
}

#[test]
fn a_test_that_meets_what_an_unstable_one_leaves_behind_is_told_from_it() {
    let project = project();
    let varies = "Kept.leave((int) (System.nanoTime() / 1000 % 997) + 1);";
    project.write("src/test/java/com/acme/ALeavesTest.java", &test_class("ALeavesTest", "leaves", varies));
    project.compile();
    let selected = ["-c", "com.acme.ALeavesTest", "-c", "com.acme.BTotalTest", "-c", "com.acme.CTableTest"];
    let made = project.test_selected(&["--update"], &selected);
    assert_eq!(made.status, Some(0), "{}", made.said);
    let leaves = about(&made.said, "ALeavesTest.leaves()");
    assert!(leaves.contains("; alone it differs, too"), "{}", made.said);
    let adds = about(&made.said, "BTotalTest.adds()");
    assert!(
        adds.contains("; alone it does the same each time: it meets what other tests leave behind"),
        "{}",
        made.said
    );
    assert!(adds.contains("com.acme.BTotalTest.adds > com.acme.Kept.total"), "{}", made.said);
    assert!(!project.read("quipu-tests.txt").contains("squares() unstable"), "{}", made.said);
}

#[test]
fn growth_because_of_tests_that_are_new_or_gone_is_told_and_does_not_fail() {
    let project = project();
    project.write(
        "src/test/java/com/acme/AFirstTest.java",
        &test_class("AFirstTest", "first", "Kept.square(3);"),
    );
    project.write(
        "src/test/java/com/acme/ALeavesTest.java",
        &test_class("ALeavesTest", "leaves", "Kept.leave(500);"),
    );
    project.compile();
    let [first, leaves, adds, squares] =
        ["com.acme.AFirstTest", "com.acme.ALeavesTest", "com.acme.BTotalTest", "com.acme.CTableTest"];
    let made = project.test_selected(&["--update", "--once"], &["-c", first, "-c", adds, "-c", squares]);
    assert_eq!(made.status, Some(0), "{}", made.said);
    // One is new, whose list another test adds up; one is gone, whose table another test has to make now.
    let other = ["-c", leaves, "-c", adds, "-c", squares];
    let passed = project.test_selected(&[], &other);
    assert_eq!(passed.status, Some(0), "{}", passed.said);
    let said = about(&passed.said, "BTotalTest.adds()");
    assert!(said.contains("without the other tests it does what the baseline says"), "{}", passed.said);
    assert!(
        said.contains("It meets what they leave behind, in com.acme.BTotalTest.adds > com.acme.Kept.total"),
        "{}",
        passed.said
    );
    let said = about(&passed.said, "CTableTest.squares()");
    assert!(said.contains("when it is run a second time it does what the baseline says"), "{}", passed.said);
    assert!(said.contains("com.acme.CTableTest.squares > com.acme.Kept.square"), "{}", passed.said);

    // What the program does more is no other test's doing, whatever else ran.
    project.edit("src/test/java/com/acme/Kept.java", &[("i < 100;", "i < 200;")]);
    project.compile();
    let failed = project.test_selected(&[], &other);
    assert_eq!(failed.status, Some(1), "{}", failed.said);
    let line = failed.out.lines().find(|line| line.contains("BTotalTest.adds()")).unwrap_or_default();
    assert!(line.ends_with("FAILED"), "{}", failed.said);
}

#[test]
fn a_test_that_breaks_without_the_others_is_not_excused() {
    const NEEDS: &str = "if (Kept.LEFT.isEmpty()) { throw new IllegalStateException(); } \
        for (int i = 0; i < 20; i++) { Kept.total(); }";
    let project = project();
    let sources = [
        ("AFirstTest", "first", ""),
        ("BLeavesTest", "leaves", "Kept.leave(5);"),
        ("DNeedsTest", "needs", NEEDS),
    ];
    for (name, test, body) in sources {
        project.write(&format!("src/test/java/com/acme/{name}.java"), &test_class(name, test, body));
    }
    project.compile();
    let [first, leaves, needs] = ["com.acme.AFirstTest", "com.acme.BLeavesTest", "com.acme.DNeedsTest"];
    let made = project.test_selected(&["--update", "--once"], &["-c", leaves, "-c", needs]);
    assert_eq!(made.status, Some(0), "{}", made.said);
    project.edit("src/test/java/com/acme/DNeedsTest.java", &[("i < 20;", "i < 30;")]);
    project.compile();
    // Another test ran, so each is run by itself; what comes of that is no work.
    let failed = project.test_selected(&[], &["-c", first, "-c", leaves, "-c", needs]);
    assert_eq!(failed.status, Some(1), "{}", failed.said);
    assert!(failed.said.contains("running those that do more each by itself"), "{}", failed.said);
    assert_eq!(about(&failed.said, "DNeedsTest.needs()"), "", "{}", failed.said);
}
