//! What is done once, for the first test that needs it, is not part of that test.

use quipu_e2e::on_every_jdk_since;

use crate::OF_THE_PROJECT;
use crate::project::Project;

const EACH: [&str; 5] = [
    "com.acme.BasketTest#hasTotal",
    "com.acme.MoneyTest#adds",
    "com.acme.MoneyTest#parses(java.lang.String,long)",
    "com.acme.SortingTest#sorts(int)",
    "com.acme.WordsTest#countsWords",
];

/// The lines of the first text that the second one does not have.
fn missing<'a>(part: &'a str, all: &str) -> Vec<&'a str> {
    part.lines().filter(|line| !all.lines().any(|other| other == *line)).collect()
}

/// Classes are loaded and initialised, records and lambdas linked, in whichever test comes first.
#[test]
fn a_test_does_the_same_alone_and_among_others() {
    on_every_jdk_since(OF_THE_PROJECT, |jdk| {
        let project = Project::new(jdk);
        let all = project.test_without_maven(&["--update", "--once"]);
        assert_eq!(all.status, Some(0), "{}", all.said);
        for test in EACH {
            let alone =
                project.test_selected(&["--update", "--once", "--baseline", "alone.txt"], &["-m", test]);
            assert_eq!(alone.status, Some(0), "{}", alone.said);
            let text = project.read("alone.txt");
            assert!(text.contains(&test[..test.find('#').expect("a class")]), "{text}");
            assert_eq!(missing(&text, &project.read("quipu-tests.txt")), [""; 0], "{test}, {}", alone.said);
        }
    });
}

/// Caches of the program and the JDK: two tests with the same format, of which the first one pays.
#[test]
fn with_warm_caches_are_in_no_test() {
    const FORMATS: &str = "package com.acme;\n\
        import org.junit.jupiter.api.*;\n\
        class FormatTest {\n\
            @Test void first() { Assertions.assertEquals(\"1.50\", String.format(\"%.2f\", 1.5)); }\n\
            @Test void second() { Assertions.assertEquals(\"2.50\", String.format(\"%.2f\", 2.5)); }\n\
        }\n";
    on_every_jdk_since(OF_THE_PROJECT, |jdk| {
        let project = Project::new(jdk);
        project.write("src/test/java/com/acme/FormatTest.java", FORMATS);
        project.compile();
        let numbers = |options: &[&str], test: &str| {
            let options = [&["--update", "--once"], options].concat();
            let outcome =
                project.test_selected(&options, &[if test.contains('#') { "-m" } else { "-c" }, test]);
            assert_eq!(outcome.status, Some(0), "{}", outcome.said);
            let text = project.read("quipu-tests.txt");
            let lines =
                text.lines().filter_map(|line| line.split_once("bytecodes=")).map(|(_, n)| n.to_owned());
            lines.filter(|numbers| numbers.contains("calls=")).collect::<Vec<_>>()
        };
        let cold = numbers(&[], "com.acme.FormatTest");
        assert_ne!(cold[0], cold[1], "the cache is filled in one of them");
        let warm = numbers(&["--warm"], "com.acme.FormatTest");
        assert_eq!(warm[0], warm[1]);
        for test in ["com.acme.FormatTest#first", "com.acme.FormatTest#second"] {
            assert_eq!(numbers(&["--warm"], test), [warm[0].clone()], "{test}");
        }
    });
}
