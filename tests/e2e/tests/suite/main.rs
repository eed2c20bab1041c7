//! `quipu test` with Maven, surefire and JUnit: a project with thirty tests, changed in ways that matter and in ways
//! that do not.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod bisect;
mod chance;
mod clock;
mod first_use;
mod gradle;
mod inherited;
mod jmh;
mod older;
mod others;
mod outcomes;
mod project;
mod unstable;
mod vintage;

use std::collections::BTreeSet;

use project::Project;
use quipu_e2e::{jdks, on_every_jdk_since};

/// Runs of the project's thirty test methods: some have parameters, are repeated, or make tests.
const RUNS: usize = 43;
/// The release that the project is written for; older.rs has one for JDK 8.
const OF_THE_PROJECT: u32 = 17;
const INSERT: &str = "int number = sorted[end];";
/// Some forty bytecodes more for each call; a call takes 2,400 when 500 numbers are sorted.
const LONGER: &str = "int number = sorted[end]; for (int i = 0; i < 4; i++) number = -(-number);";

#[test]
fn numbers_are_the_same_each_time_and_a_changed_line_is_named() {
    on_every_jdk_since(OF_THE_PROJECT, |jdk| {
        let project = Project::new(jdk);
        let made = project.test(&["--update"]);
        assert_eq!(made.status, Some(0), "{}", made.said);
        let baseline = project.read("quipu-tests.txt");
        let tests: Vec<&str> = baseline.lines().filter(|line| line.starts_with("com.acme.")).collect();
        assert_eq!(tests.len(), RUNS, "{baseline}");
        let methods = tests.iter().map(|line| line.split(['(', ' ']).next());
        assert_eq!(methods.collect::<BTreeSet<_>>().len(), 30, "{baseline}");
        assert!(!baseline.contains("unstable"), "{baseline}");
        for run in
            ["sorts(int)[1: 10] ", "sorts(int)[2: 20] ", "sorts(int)[3: 40] ", "findsEach()[4: number 3] "]
        {
            assert!(baseline.contains(&format!("com.acme.SortingTest.{run}")), "{run}: {baseline}");
        }
        assert!(baseline.contains("com.acme.BasketTest$Empty.hasTotal() "), "{baseline}");
        // An array and its clone, which native code makes.
        assert!(
            baseline.contains("com.acme.SortingTest.sortsOne() bytecodes=87 calls=9 allocations=2\n"),
            "{baseline}"
        );

        let runs = if std::env::var_os("QUIPU_FULL").is_some() { 19 } else { 1 };
        for _ in 0..runs {
            let again = project.test(&["--update", "--once", "--baseline", "again.txt"]);
            assert_eq!(again.status, Some(0), "{}", again.said);
            assert_eq!(project.read("again.txt"), baseline, "the same bytes");
        }

        let line = project.edit("src/main/java/com/acme/Sorting.java", &[(INSERT, LONGER)]);
        let failed = project.test(&[]);
        assert_eq!(failed.status, Some(1), "{}", failed.said);
        let culprits: Vec<&str> = failed.out.lines().filter(|line| line.ends_with("FAILED")).collect();
        let expected = ["sorts(int)[1: 10]", "sorts(int)[2: 20]", "sorts(int)[3: 40]", "sortsMany()"];
        assert_eq!(culprits.len(), expected.len(), "{}", failed.said);
        for (line, test) in culprits.iter().zip(expected) {
            let name = format!("com.acme.SortingTest.{test} ");
            assert!(line.trim_start().starts_with(&name), "{test}: {}", failed.said);
        }
        let place = format!("com.acme.Sorting.insert (Sorting.java:{line})");
        assert!(failed.out.contains(&place), "{}", failed.said);
        assert!(!failed.out.contains("  2. "), "one line, one culprit: {}", failed.said);
    });
}

#[test]
fn renaming_and_reordering_passes_and_limits_are_kept() {
    on_every_jdk_since(OF_THE_PROJECT, |jdk| {
        let project = Project::new(jdk);
        assert_eq!(project.test_without_maven(&["--update", "--once"]).status, Some(0));
        let source = project.read("src/main/java/com/acme/Sorting.java");
        let from = source.find("    private static void insert").expect("insert");
        let to = source.find("    private static boolean isLess").expect("isLess");
        let end = source.rfind('}').expect("an end");
        let reordered = [&source[..from], &source[to..end], "\n", &source[from..to], "}\n"].concat();
        let renamed = reordered.replace("insert(", "settle(").replace("isLess(", "comesBefore(");
        project.write("src/main/java/com/acme/Sorting.java", &renamed);
        let passed = project.test_without_maven(&["--max", "0%", "--max-absolute", "0"]);
        assert_eq!(passed.status, Some(0), "{}", passed.said);
        assert!(passed.out.contains("PASSED: bytecodes of 43 tests as in the baseline"), "{}", passed.said);

        project.edit("src/main/java/com/acme/Sorting.java", &[(INSERT, LONGER)]);
        let baseline = project.read("quipu-tests.txt");
        let tolerant = baseline.lines().map(|line| match line.contains("SortingTest.sorts") {
            true => format!("{line} max=50%\n"),
            false => format!("{line}\n"),
        });
        project.write("quipu-tests.txt", &tolerant.collect::<String>());
        let updated = project.test_without_maven(&["--update", "--once"]);
        assert_eq!(updated.status, Some(0), "{}", updated.said);
        let held = "PASSED: bytecodes of 4 of 43 tests grew, within their limits";
        assert!(updated.out.contains(held), "a limit of its own: {}", updated.said);
        assert_eq!(project.read("quipu-tests.txt").matches(" max=50%\n").count(), 6, "limits stay");
    });
}

#[test]
fn a_test_that_depends_on_the_clock_is_named_and_left_out() {
    on_every_jdk_since(OF_THE_PROJECT, |jdk| {
        let project = Project::new(jdk);
        project.write("src/test/java/com/acme/ClockTest.java", include_str!("ClockTest.java"));
        let made = project.test_without_maven(&["--update"]);
        assert_eq!(made.status, Some(0), "{}", made.said);
        let name = "com.acme.ClockTest.dependsOnTheClock()";
        let baseline = project.read("quipu-tests.txt");
        assert!(baseline.contains(&format!("{name} unstable\n")), "{baseline}");
        assert_eq!(baseline.matches("unstable").count(), 1, "{baseline}");
        let said = made.said.lines().find(|line| line.contains(name)).unwrap_or_default();
        assert!(said.contains("com.acme.ClockTest.dependsOnTheClock"), "{}", made.said);
        assert!(said.contains(" in one run, ") && said.contains(" in the other"), "{}", made.said);
        assert!(said.contains("; alone it differs, too"), "{}", made.said);
        let passed = project.test_without_maven(&[]);
        assert_eq!(passed.status, Some(0), "{}", passed.said);
    });
}

#[test]
fn tests_in_parallel_are_counted_apart_and_told() {
    let newest = jdks::find().into_iter().max_by_key(|jdk| jdk.feature);
    newest.iter().for_each(|jdk| {
        let project = Project::new(jdk);
        assert_eq!(project.test_without_maven(&["--update", "--once"]).status, Some(0));
        let sequential = project.read("quipu-tests.txt");
        let settings = [
            "junit.jupiter.execution.parallel.enabled=true",
            "junit.jupiter.execution.parallel.mode.default=concurrent",
            "junit.jupiter.execution.parallel.config.strategy=fixed",
            "junit.jupiter.execution.parallel.config.fixed.parallelism=4",
        ];
        let options = ["--update", "--once", "--baseline", "parallel.txt"];
        let parallel = project.test_in_console(&options, &settings);
        assert_eq!(parallel.status, Some(0), "{}", parallel.said);
        // Four, and whatever the pool takes in place of one that waits.
        let several = |said: &str, before: &str| {
            (2..=8).any(|threads| said.contains(&format!("{before} ran on {threads} threads")))
        };
        assert!(several(&parallel.said, "quipu: tests"), "{}", parallel.said);
        let refused = project.test_in_console(&["--once"], &settings);
        assert_eq!(refused.status, Some(2), "{}", refused.said);
        assert!(several(&refused.said, "ran one after the other, these"), "{}", refused.said);
        // These use nothing that others use for the first time.
        let parallel = project.read("parallel.txt");
        for test in ["MoneyTest.adds()", "SortingTest.sortsOne()", "SortingTest.findsWhatIsThere()"] {
            let line = |text: &str| text.lines().find(|line| line.contains(test)).map(str::to_owned);
            assert!(line(&sequential).is_some(), "{sequential}");
            assert_eq!(line(&sequential), line(&parallel));
        }
        let tests = |text: &str| text.lines().filter(|line| line.contains("bytecodes=")).count();
        assert_eq!(tests(&sequential), tests(&parallel), "{sequential}\n{parallel}");
    });
}

/// Maven gives each of its JVMs other classes, whichever has time.
#[test]
fn tests_in_several_jvms_at_a_time_are_not_compared_with_such_as_ran_in_one() {
    let newest = jdks::find().into_iter().max_by_key(|jdk| jdk.feature);
    newest.iter().for_each(|jdk| {
        let project = Project::new(jdk);
        let made = project.test(&["--update", "--once"]);
        assert_eq!(made.status, Some(0), "{}", made.said);
        let forks = ["-DforkCount=2", "-DreuseForks=true"];
        let refused = project.test_with(&["--once"], &forks);
        assert_eq!(refused.status, Some(2), "{}", refused.said);
        let said = "was made with tests that ran one after the other, these ran in 2 JVMs at a time";
        assert!(refused.said.contains(said), "{}", refused.said);
        let options = ["--update", "--once", "--baseline", "forks.txt"];
        let made = project.test_with(&options, &forks);
        assert_eq!(made.status, Some(0), "{}", made.said);
        assert!(made.said.contains("quipu: tests ran in 2 JVMs at a time"), "{}", made.said);
        let baseline = project.read("forks.txt");
        assert!(baseline.contains("\nat a time: in 2 JVMs at a time\n"), "{baseline}");
        assert_eq!(baseline.lines().filter(|line| line.starts_with("com.acme.")).count(), RUNS, "{baseline}");
        // The other way round as well.
        let refused = project.test(&["--once", "--baseline", "forks.txt"]);
        assert_eq!(refused.status, Some(2), "{}", refused.said);
    });
}

/// What tests with budgets are compiled against.
const BUDGETS_JAR: &str = "<dependency><groupId>quipu</groupId><artifactId>quipu-junit</artifactId><version>1</version>\
    <scope>system</scope><systemPath>${project.basedir}/quipu-junit.jar</systemPath></dependency>";

#[test]
fn budgets_hold_with_junit_6() {
    on_every_jdk_since(OF_THE_PROJECT, |jdk| {
        let project = Project::new(jdk);
        assert_eq!(project.quipu(&["test-api"]).status, Some(0));
        project.edit("pom.xml", &[("  </dependencies>", &format!("{BUDGETS_JAR}</dependencies>"))]);
        project.write("src/test/java/com/acme/BudgetTest.java", include_str!("BudgetTest.java"));
        let failed = project.test_with(&["--update"], &["-Djunit.version=6.0.0"]);
        assert_eq!(failed.status, Some(1), "Maven's own: {}", failed.said);
        assert!(failed.said.contains("quipu-tests.txt is left as it is"), "{}", failed.said);
        assert!(failed.said.contains("Tests run: 47, Failures: 2, Errors: 0"), "{}", failed.said);
        let beyond = "com.acme.BudgetTest.isBeyondWithOneOfTwo did 2,032 bytecodes; its budget is 2,000";
        assert!(failed.said.contains(beyond), "{}", failed.said);
        assert!(failed.said.contains("2224 com.acme.Sorting.numbers"), "{}", failed.said);
        let beyond = "com.acme.BudgetTest.allocatesTooMuch did 2 allocations; its budget is 1";
        assert!(failed.said.contains(beyond), "{}", failed.said);
    });
}
