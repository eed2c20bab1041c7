//! What `quipu test` says and ends with when more than the numbers is at stake.

use quipu_e2e::{Command, Jdk, jdks, tools};

use crate::project::Project;
use crate::{INSERT, LONGER};

const SORTING: &str = "src/main/java/com/acme/Sorting.java";

/// What is said does not depend on the JDK.
fn newest() -> Jdk {
    jdks::find().into_iter().max_by_key(|jdk| jdk.feature).expect("a JDK")
}

#[test]
fn a_failing_build_is_told_from_a_failing_gate() {
    let project = Project::new(&newest());
    assert_eq!(project.test_without_maven(&["--update", "--once"]).status, Some(0));
    let failing = "package com.acme;\n\
        class FailingTest { @org.junit.jupiter.api.Test void fails() { throw new AssertionError(); } }\n";
    project.write("src/test/java/com/acme/FailingTest.java", failing);
    let built = project.test_without_maven(&[]);
    assert_eq!(built.status, Some(1), "the launcher's own: {}", built.said);
    assert!(built.said.contains("ended with status 1"), "{}", built.said);
    assert!(built.out.contains("PASSED: bytecodes of 44 tests as in the baseline"), "{}", built.said);
    // The new one has nothing to be compared with.
    let line = built.out.lines().find(|line| line.contains("FailingTest.fails()")).unwrap_or_default();
    assert!(line.ends_with(" new") && !line.contains("new new") && !line.contains(" 0 "), "{line}");
    project.edit(SORTING, &[(INSERT, LONGER)]);
    let both = project.test_without_maven(&[]);
    assert_eq!(both.status, Some(4), "{}", both.said);
    assert!(
        both.out.contains("FAILED: bytecodes of 4 of 44 tests grew by more than 1 % and 100"),
        "{}",
        both.said
    );
    let left = project.test_without_maven(&["--update"]);
    assert_eq!(left.status, Some(1), "{}", left.said);
    assert!(left.said.contains("is left as it is"), "{}", left.said);
}

/// A second run shows the line, but is not always made: of the baseline, of the new numbers, or when the build fails.
#[test]
fn a_failing_test_names_a_place_however_closely_was_looked() {
    const FAILING: &str = "package com.acme;\n\
        class FailingTest { @org.junit.jupiter.api.Test void fails() { throw new AssertionError(); } }\n";
    let sorting = ["-c", "com.acme.SortingTest"];
    let project = Project::new(&newest());
    project.compile();
    let in_baseline = [("closely.txt", &["--update"][..]), ("once.txt", &["--update", "--once"][..])];
    for (baseline, options) in in_baseline {
        let made = project.test_selected(&[options, &["--baseline", baseline]].concat(), &sorting);
        assert_eq!(made.status, Some(0), "{}", made.said);
    }
    project.edit(SORTING, &[(INSERT, LONGER)]);
    project.write("src/test/java/com/acme/FailingTest.java", FAILING);
    project.compile();
    let failing = ["-c", "com.acme.SortingTest", "-c", "com.acme.FailingTest"];
    for (baseline, _) in in_baseline {
        let runs = [(&["--once"][..], &sorting[..], 1), (&[], &sorting, 1), (&[], &failing, 4)];
        for (options, selected, status) in runs {
            let failed = project.test_selected(&[options, &["--baseline", baseline]].concat(), selected);
            assert_eq!(failed.status, Some(status), "{}", failed.said);
            let place = failed.out.lines().find(|line| line.trim_start().starts_with("1. "));
            let place = place.unwrap_or_else(|| panic!("no place: {}", failed.said));
            assert!(place.contains("bytecodes  com.acme.Sorting.insert (Sorting.java:"), "{}", failed.said);
        }
    }

    // One line of the text is not of the run that the contexts are of.
    let text = project.read("closely.txt");
    let line = text.lines().find(|line| line.contains(".sorts(int)[2")).expect("a test");
    let name = line.split(" bytecodes=").next().expect("a name");
    project.write("closely.txt", &text.replace(line, &format!("{name} bytecodes=5000 calls=100")));
    let failed = project.test_selected(&["--once", "--baseline", "closely.txt"], &sorting);
    assert_eq!(failed.status, Some(1), "{}", failed.said);
    assert!(failed.out.contains("com.acme.Sorting.insert (Sorting.java:"), "{}", failed.said);
    let row = failed.out.lines().find(|row| row.contains(name)).unwrap_or_default();
    assert!(row.contains("FAILED: where is not known"), "{}", failed.said);
    assert_eq!(failed.out.matches("where is not known").count(), 1, "{}", failed.said);
    let said =
        format!("quipu: of {name} closely.quipu has not the contexts that closely.txt has the numbers of");
    assert!(failed.said.contains(&said), "{}", failed.said);
}

#[test]
fn tests_that_did_not_run_are_a_count_and_those_that_shrank_are_too() {
    let project = Project::new(&newest());
    project.edit(SORTING, &[(INSERT, LONGER)]);
    assert_eq!(project.test_without_maven(&["--update", "--once"]).status, Some(0));
    project.edit(SORTING, &[(LONGER, INSERT)]);
    project.compile();
    let some = project.test_selected(&[], &["-c", "com.acme.SortingTest"]);
    assert_eq!(some.status, Some(0), "{}", some.said);
    assert!(some.out.contains("tests of the baseline did not run"), "{}", some.said);
    assert!(!some.out.contains("gone"), "{}", some.said);
    assert!(some.out.contains(" tests shrank, none grew"), "{}", some.said);
    assert!(some.out.starts_with("PASSED: bytecodes of 4 of "), "{}", some.said);
}

#[test]
fn merge_conflicts_are_named_and_an_update_resolves_them() {
    let project = Project::new(&newest());
    assert_eq!(project.test_without_maven(&["--update", "--once"]).status, Some(0));
    let text = project.read("quipu-tests.txt");
    let line = text.lines().find(|line| line.contains("SortingTest.sortsOne()")).expect("a test");
    let conflict = format!("<<<<<<< HEAD\n{line} max=7%\n=======\n{line}\n>>>>>>> other\n");
    project.write("quipu-tests.txt", &text.replace(&format!("{line}\n"), &conflict));
    let refused = project.test_without_maven(&[]);
    assert_eq!(refused.status, Some(2), "{}", refused.said);
    assert!(refused.said.contains("it has a merge conflict. Run with --update"), "{}", refused.said);
    let updated = project.test_without_maven(&["--update", "--once"]);
    assert_eq!(updated.status, Some(0), "{}", updated.said);
    assert_eq!(project.read("quipu-tests.txt"), text.replace(line, &format!("{line} max=7%")));

    // With merge=union git keeps both lines, and says nothing.
    let union = format!("{line} max=9%\n{line}\n");
    project.write("quipu-tests.txt", &text.replace(&format!("{line}\n"), &union));
    let refused = project.test_selected(&[], &[]);
    assert_eq!(refused.status, Some(2), "{}", refused.said);
    assert!(refused.said.contains("is there already. If git has put two sides together"), "{}", refused.said);
    let updated = project.test_without_maven(&["--update", "--once"]);
    assert_eq!(updated.status, Some(0), "{}", updated.said);
    assert_eq!(project.read("quipu-tests.txt"), text.replace(line, &format!("{line} max=9%")));
}

#[test]
fn another_jdk_is_told_in_every_form_and_so_is_growth_within_the_floor() {
    let project = Project::new(&newest());
    assert_eq!(project.test_without_maven(&["--update", "--once"]).status, Some(0));
    let text = project.read("quipu-tests.txt");
    project.write("quipu-tests.txt", &text.replacen("jvm: ", "jvm: Another ", 1));
    for (option, words) in
        [("--markdown", "Not compared"), ("--json", "\"not_compared\": \"quipu-tests.txt is of")]
    {
        let refused = project.test_without_maven(&[option]);
        assert_eq!(refused.status, Some(2), "{}", refused.said);
        assert!(refused.out.contains(words) && refused.out.contains("another JDK"), "{}", refused.said);
    }
    // sortsOne() does 87: 20 more are many percent, and nothing.
    let less = text.replace("sortsOne() bytecodes=87", "sortsOne() bytecodes=67");
    assert_ne!(less, text);
    project.write("quipu-tests.txt", &less);
    let held = project.test_without_maven(&[]);
    assert_eq!(held.status, Some(0), "{}", held.said);
    assert!(held.out.contains("bytecodes of 1 of 43 tests grew, within their limits"), "{}", held.said);
    let strict = project.test_without_maven(&["--max-absolute", "0", "--once"]);
    assert_eq!(strict.status, Some(1), "{}", strict.said);
}

#[test]
fn threads_that_tests_start_are_told() {
    const TEST: &str = "package com.acme;\n\
        class ThreadsTest {\n\
            @org.junit.jupiter.api.Test void startsThem() throws Exception {\n\
                for (int i = 0; i < 3; i++) { Thread t = new Thread(() -> Sorting.numbers(100)); t.start(); t.join(); }\n\
            }\n\
        }\n";
    const TIMED: &str = "package com.acme;\n\
        import org.junit.jupiter.api.*;\n\
        @Timeout(value = 200, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)\n\
        class WithTimeoutTest {\n\
            @Test void one() { Sorting.numbers(100); }\n\
            @Test void two() { Sorting.numbers(200); }\n\
        }\n";
    let project = Project::new(&newest());
    project.write("src/test/java/com/acme/ThreadsTest.java", TEST);
    project.write("src/test/java/com/acme/WithTimeoutTest.java", TIMED);
    let made = project.test_without_maven(&["--update", "--once"]);
    assert_eq!(made.status, Some(0), "{}", made.said);
    let line = made.said.lines().find(|line| line.contains("ThreadsTest.startsThem()")).unwrap_or_default();
    assert!(line.contains(" bytecodes on its own thread; 3 threads were started"), "{}", made.said);
    let project_tests = made.said.lines().filter(|line| !line.contains("WithTimeoutTest"));
    let started = project_tests.filter(|line| line.contains("started, which are not in it"));
    assert_eq!(started.count(), 1, "{}", made.said);
    // Each on a thread of its own, and one after the other.
    let baseline = project.read("quipu-tests.txt");
    assert!(!made.said.contains("quipu: tests ran ") && !baseline.contains("at a time"), "{}", made.said);
    let timed: Vec<&str> = baseline.lines().filter(|line| line.contains("WithTimeoutTest.")).collect();
    assert!(timed.len() == 2 && timed.iter().all(|line| line.contains(" bytecodes=")), "{baseline}");
}

#[test]
fn tests_of_the_same_name_in_two_modules_are_two() {
    let project = Project::new(&newest());
    project.compile();
    let script = "for part in one two; do mkdir -p parts/$part; (cd parts/$part && \"$@\") || exit; done";
    let console = crate::project::console();
    let java = newest().home.join("bin/java");
    let mut quipu = Command::new(&tools().quipu);
    quipu.args(["test", "--update", "--once", "--", "sh", "-c", script, "sh"]).arg(java);
    quipu.args(["-jar", &console, "execute", "-cp", "../../classes", "-c", "com.acme.MoneyTest"]);
    quipu.args(["--details=none", "--disable-banner"]);
    let made = project.outcome(quipu);
    assert_eq!(made.status, Some(0), "{}", made.said);
    let baseline = project.read("quipu-tests.txt");
    for part in ["parts/one", "parts/two"] {
        assert!(baseline.contains(&format!("\n{part}/com.acme.MoneyTest.adds() bytecodes=")), "{baseline}");
    }
    assert!(!baseline.contains("runs=2"), "{baseline}");
}

/// Runs JUnit; the second time other tests, after which it ends as it is told to.
const CUT_SHORT: &str = "echo >> turns; case $(wc -l < turns) in \
    2) \"$@\" -c com.acme.MoneyTest; eval \"$END\" ;; *) exec \"$@\" -c com.acme.SortingTest ;; esac";

/// What a run that is cut short does not come to is neither unstable nor gone.
#[test]
fn a_second_run_that_is_cut_short_takes_nothing_back() {
    let project = Project::new(&newest());
    project.compile();
    let made = project.test_selected(&["--update", "--once"], &["-c", "com.acme.SortingTest"]);
    assert_eq!(made.status, Some(0), "{}", made.said);
    let baseline = project.read("quipu-tests.txt");
    project.edit(SORTING, &[(INSERT, LONGER)]);
    project.compile();
    let java = newest().home.join("bin/java");
    let test = |options: &[&str], end: &str| {
        project.write("turns", "");
        let mut quipu = Command::new(&tools().quipu);
        quipu.arg("test").args(options).args(["--", "sh", "-c", CUT_SHORT, "sh"]).arg(&java);
        quipu.args(["-jar", &crate::project::console(), "execute", "-cp", "classes"]);
        quipu.args(["--details=none", "--disable-banner"]).env("END", end);
        project.outcome(quipu)
    };
    for end in ["exit 7", "kill -9 $$"] {
        let failed = test(&[], end);
        assert_eq!(failed.status, Some(1), "{}", failed.said);
        assert!(failed.out.contains("FAILED: bytecodes of 4 of "), "{}", failed.said);
        assert!(!failed.said.contains("is left out"), "{}", failed.said);
        assert!(failed.out.contains("com.acme.Sorting.insert (Sorting.java:"), "{}", failed.said);
    }
    let left = test(&["--update"], "exit 7");
    assert_eq!(left.status, Some(7), "the command's own: {}", left.said);
    assert!(left.said.contains("quipu-tests.txt is left as it is"), "{}", left.said);
    assert_eq!(project.read("quipu-tests.txt"), baseline);

    // `quipu` passes the signal on to the command.
    let told = test(&[], "kill -TERM $PPID; exec sleep 60");
    assert_eq!(told.status, Some(3), "{}", told.said);
    assert!(told.said.contains("quipu: told to end"), "{}", told.said);
    assert_eq!(project.read("turns").len(), 2, "there is no third run: {}", told.said);

    // No room for the contexts: the numbers are not written without them.
    let mut directory = Command::new("sh");
    directory.args(["-c", "rm quipu-tests.quipu; mkdir quipu-tests.quipu"]);
    assert_eq!(project.outcome(directory).status, Some(0));
    let failed = project.test_selected(&["--update", "--once"], &["-c", "com.acme.SortingTest"]);
    assert_ne!(failed.status, Some(0), "{}", failed.said);
    assert_eq!(project.read("quipu-tests.txt"), baseline);
}

/// Has contexts beyond number from its second run on.
const MANY: &str = "package com.acme;
import java.io.*;
import org.junit.jupiter.api.Test;
class AManyTest {
    @Test void has() throws IOException {
        File turns = new File(\"turns\");
        boolean again = turns.length() > 0;
        try (OutputStream more = new FileOutputStream(turns, true)) { more.write(1); }
        one(again ? 17 : 1);
    }
    private static void one(int depth) { if (depth > 0) { one(depth - 1); two(depth - 1); } }
    private static void two(int depth) { if (depth > 0) { one(depth - 1); two(depth - 1); } }
}
";

#[test]
fn nothing_is_said_of_tests_where_the_arena_was_full() {
    let project = Project::new(&newest());
    project.write("src/test/java/com/acme/AManyTest.java", MANY);
    project.compile();
    let selected = ["-c", "com.acme.AManyTest", "-c", "com.acme.SortingTest"];
    let limited =
        |options: &[&str]| project.test_selected(&[options, &["--arena-limit", "16M"]].concat(), &selected);
    let made = limited(&["--update", "--once"]);
    assert_eq!(made.status, Some(0), "{}", made.said);
    let baseline = project.read("quipu-tests.txt");
    project.edit(SORTING, &[(INSERT, LONGER)]);
    project.compile();

    // In the second run alone: that run does not excuse anything.
    project.write("turns", "");
    let failed = limited(&[]);
    assert_eq!(failed.status, Some(1), "{}", failed.said);
    assert!(failed.said.contains("the second run is as if it had not been: "), "{}", failed.said);
    assert!(failed.out.contains("FAILED: bytecodes of 4 of "), "{}", failed.said);

    // In the first.
    for options in [&[][..], &["--update"], &["--json"]] {
        let refused = limited(options);
        assert_eq!(refused.status, Some(3), "{}", refused.said);
        let said = "for which the arena had no room; give it more with --arena-limit";
        assert!(refused.said.contains(said), "{}", refused.said);
        assert_eq!(
            refused.out.contains("\"not_compared\": "),
            options.contains(&"--json"),
            "{}",
            refused.said
        );
    }
    assert_eq!(project.read("quipu-tests.txt"), baseline);
}
