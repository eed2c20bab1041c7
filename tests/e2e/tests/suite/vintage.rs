//! Tests of JUnit 4, through the vintage engine.

use quipu_e2e::on_every_jdk;

use crate::project::Project;

const TESTS: &str = include_str!("OldTest.java");

/// The engine, and JUnit 4 behind it.
const ENGINE: &str = "<dependency><groupId>org.junit.vintage</groupId><artifactId>junit-vintage-engine</artifactId>\
    <version>${junit.version}</version><scope>test</scope></dependency>";

#[test]
fn tests_of_junit_4_are_counted_each_by_itself() {
    on_every_jdk(|jdk| {
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
        line("com.acme.SortingTest.sortsOne() bytecodes=");
        let runs =
            [0, 1].map(|run| line(&format!("com.acme.OldTest$WithParameters.sorts()[{run}] bytecodes=")));
        assert_ne!(runs[0].split(' ').nth(1), runs[1].split(' ').nth(1), "10 numbers and 20: {baseline}");
        assert!(!baseline.contains("unstable"), "{baseline}");
    });
}
