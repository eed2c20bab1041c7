//! Tests that do not do the same work each time: what is said where no context tells them apart, and of what they meet.

use quipu_e2e::jdks;

use crate::project::Project;

/// Which run of the command this is.
const TURN: &str = "package com.acme;
import java.io.*;
final class Turn {
    static final int NOW = count();
    static int left;
    private static int count() {
        File turns = new File(\"turns\");
        int now = (int) turns.length();
        try (OutputStream more = new FileOutputStream(turns, true)) {
            more.write(1);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return now;
    }
    static int work(int rounds) {
        int sum = 0;
        for (int i = 0; i < rounds; i++) {
            sum += i;
        }
        return sum;
    }
}
";
/// The second of two runs is there every other time.
const PARTLY: &str = "package com.acme;
import java.util.stream.*;
import org.junit.jupiter.api.*;
class PartlyTest {
    @TestFactory Stream<DynamicTest> some() {
        return IntStream.range(0, 2 - Turn.NOW % 2).mapToObj(n -> DynamicTest.dynamicTest(\"run\", () -> Turn.work(10)));
    }
}
";
/// Each of two runs does what the other did before.
const SWAPPED: &str = "package com.acme;
import java.util.stream.*;
import org.junit.jupiter.api.*;
class SwappedTest {
    @TestFactory Stream<DynamicTest> both() {
        return IntStream.range(0, 2).mapToObj(
            n -> DynamicTest.dynamicTest(\"run\", () -> Turn.work((n + Turn.NOW) % 2 * 1000)));
    }
}
";
/// Does the same each time, and leaves something else behind.
const LEAVES: &str = "package com.acme;
class ALeavesTest { @org.junit.jupiter.api.Test void leaves() { Turn.left = (Turn.NOW + 1) * 100; } }
";
const MEETS: &str = "package com.acme;
class MeetsTest { @org.junit.jupiter.api.Test void meets() { Turn.work(Turn.left); } }
";
/// So many that they are not all run alone: the two of `SwappedTest` come before them.
const VARYING: usize = 9;

#[test]
fn every_test_that_varies_has_a_sentence() {
    let jdk = jdks::find().into_iter().max_by_key(|jdk| jdk.feature).expect("a JDK");
    let project = Project::empty(&jdk);
    let test = |n| format!("@org.junit.jupiter.api.Test void varies{n}() {{ Turn.work(Turn.NOW + {n}); }}\n");
    let varies =
        format!("package com.acme;\nclass VariesTest {{\n{}}}\n", (0..VARYING).map(test).collect::<String>());
    let sources = [
        ("Turn", TURN),
        ("PartlyTest", PARTLY),
        ("SwappedTest", SWAPPED),
        ("ALeavesTest", LEAVES),
        ("MeetsTest", MEETS),
        ("VariesTest", &varies),
    ];
    sources
        .iter()
        .for_each(|(name, text)| project.write(&format!("src/test/java/com/acme/{name}.java"), text));
    let made = project.test_without_maven(&["--update"]);
    assert_eq!(made.status, Some(0), "{}", made.said);
    let of = |test: &str| {
        let start = format!("quipu: com.acme.{test} does not do the same work each time, and is left out: ");
        let said = made.said.lines().find_map(|line| line.strip_prefix(&start));
        said.unwrap_or_else(|| panic!("{test}: {}", made.said)).to_owned()
    };
    assert_eq!(of("PartlyTest.some()[2: run]"), "it ran in only one of two runs");
    for run in ["[1: run]", "[2: run]"] {
        let said = of(&format!("SwappedTest.both(){run}"));
        assert!(said.starts_with("all runs of its method together do the same, but one of them"), "{said}");
        assert!(said.ends_with("; alone it differs, too"), "{said}");
    }
    let met = "; without the other tests it does the same each time: it meets what other tests leave behind, in \
               com.acme.MeetsTest.meets > com.acme.Turn.work";
    assert!(of("MeetsTest.meets()").ends_with(met), "{}", made.said);
    assert!(of("VariesTest.varies0()").ends_with("; alone it differs, too"), "{}", made.said);
    let last = of(&format!("VariesTest.varies{}()", VARYING - 1));
    assert!(
        last.ends_with("; without the tests that do the same each time it differs, too"),
        "{}",
        made.said
    );
    let baseline = project.read("quipu-tests.txt");
    assert_eq!(baseline.matches(" unstable\n").count(), 1 + 2 + 1 + VARYING, "{baseline}");
    assert!(baseline.contains("ALeavesTest.leaves() bytecodes="), "{baseline}");
}

/// It would do the same each time, since it does not come far.
#[test]
fn a_test_that_breaks_without_the_others_is_not_said_to_do_the_same_then() {
    const NEEDS: &str = "package com.acme;
class MeetsTest {
    @org.junit.jupiter.api.Test void meets() {
        if (Turn.left == 0) { throw new IllegalStateException(); }
        Turn.work(Turn.left);
    }
}
";
    let jdk = jdks::find().into_iter().max_by_key(|jdk| jdk.feature).expect("a JDK");
    let project = Project::empty(&jdk);
    for (name, text) in [("Turn", TURN), ("ALeavesTest", LEAVES), ("MeetsTest", NEEDS)] {
        project.write(&format!("src/test/java/com/acme/{name}.java"), text);
    }
    let made = project.test_without_maven(&["--update"]);
    assert_eq!(made.status, Some(0), "{}", made.said);
    assert!(made.said.contains("MeetsTest.meets() does not do the same work each time"), "{}", made.said);
    assert!(made.said.contains("that does not work without the other tests"), "{}", made.said);
    assert!(!made.said.contains("it does the same each time"), "{}", made.said);
}
