//! Tests of JUnit 4, through the vintage engine.

use quipu_e2e::on_every_jdk_since;

use crate::OF_THE_PROJECT;
use crate::project::Project;

const TESTS: &str = include_str!("OldTest.java");

/// The engine, and JUnit 4 behind it.
const ENGINE: &str = "<dependency><groupId>org.junit.vintage</groupId><artifactId>junit-vintage-engine</artifactId>\
    <version>${junit.version}</version><scope>test</scope></dependency>";

const BUDGET: &str = "package com.acme;\n\
    public class OldBudgetTest {\n\
        @org.junit.Test @quipu.junit.Budget(bytecodes = 1000) public void isBeyond() { Sorting.numbers(100); }\n\
        @org.junit.Test @quipu.junit.Budget(bytecodes = 1000000) public void isWithin() { Sorting.numbers(100); }\n\
    }\n";

/// JUnit 4 does not ask the annotation's extension: `quipu test` looks itself.
#[test]
fn budgets_hold_with_junit_4() {
    let newest = quipu_e2e::jdks::find().into_iter().max_by_key(|jdk| jdk.feature);
    let project = Project::new(&newest.expect("a JDK"));
    assert_eq!(project.quipu(&["test-api"]).status, Some(0));
    let dependencies = format!("{ENGINE}{}</dependencies>", crate::BUDGETS_JAR);
    project.edit("pom.xml", &[("  </dependencies>", &dependencies)]);
    let within = BUDGET.replace("= 1000)", "= 3000)");
    project.write("src/test/java/com/acme/OldBudgetTest.java", &within);
    let made = project.test_with(&["--update", "--once"], &["-Dtest=OldBudgetTest"]);
    assert_eq!(made.status, Some(0), "{}", made.said);
    // What is pinned is said, and what is not.
    assert!(
        made.said.contains("quipu: pinned: ") && made.said.contains("quipu: not pinned: "),
        "{}",
        made.said
    );
    project.write("src/test/java/com/acme/OldBudgetTest.java", BUDGET);
    let failed = project.test_with(&["--once"], &["-Dtest=OldBudgetTest"]);
    assert_eq!(failed.status, Some(1), "{}", failed.said);
    assert!(failed.out.contains("as in the baseline"), "{}", failed.said);
    let beyond = "quipu: FAILED: com.acme.OldBudgetTest.isBeyond() did 2,016 bytecodes; its budget is 1,000";
    assert!(failed.said.contains(beyond), "{}", failed.said);
    assert!(failed.out.contains("FAILED: 1 test is beyond its budget; "), "{}", failed.said);
    let json = project.test_with(&["--once", "--json"], &["-Dtest=OldBudgetTest"]);
    let verdict: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!((json.status, &verdict["passed"]), (Some(1), &false.into()), "{}", json.said);
    let sentence = beyond.trim_start_matches("quipu: FAILED: ");
    assert_eq!(verdict["beyond_budget"], serde_json::json!([sentence]), "{}", json.said);
    // A framework that looks at budgets itself would have failed the build, and left the baseline as it is.
    let baseline = project.read("quipu-tests.txt");
    let left = project.test_with(&["--update", "--once"], &["-Dtest=OldBudgetTest"]);
    assert_eq!(left.status, Some(1), "{}", left.said);
    assert!(left.said.contains("quipu-tests.txt is left as it is"), "{}", left.said);
    assert_eq!(project.read("quipu-tests.txt"), baseline);
}

#[test]
fn tests_of_junit_4_are_counted_each_by_itself() {
    on_every_jdk_since(OF_THE_PROJECT, |jdk| {
        let project = Project::new(jdk);
        project.edit("pom.xml", &[("  </dependencies>", &format!("{ENGINE}</dependencies>"))]);
        project.write("src/test/java/com/acme/OldTest.java", TESTS);
        let made = project.test_with(&["--update"], &["-Dtest=OldTest*,SortingTest"]);
        assert_eq!(made.status, Some(0), "{}", made.said);
        let baseline = project.read("quipu-tests.txt");
        let line = |start: &str| {
            let found: Vec<&str> = baseline.lines().filter(|line| line.starts_with(start)).collect();
            assert_eq!(found.len(), 1, "{start}: {baseline}");
            found[0].to_owned()
        };
        // The same as with JUnit 5, save for the assertion.
        line("com.acme.OldTest.sortsOne() bytecodes=");
        line("com.acme.OldTest.sortsInTime() bytecodes=");
        assert!(!baseline.contains("at a time"), "{baseline}");
        line("com.acme.SortingTest.sortsOne() bytecodes=");
        let runs =
            [0, 1].map(|run| line(&format!("com.acme.OldTest$WithParameters.sorts()[{run}] bytecodes=")));
        assert_ne!(runs[0].split(' ').nth(1), runs[1].split(' ').nth(1), "10 numbers and 20: {baseline}");
        assert!(!baseline.contains("unstable"), "{baseline}");
    });
}
