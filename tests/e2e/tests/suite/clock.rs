//! Tests that ask for the time or start threads: chance can do the same to them twice.

use quipu_e2e::jdks;

use crate::project::Project;

const ASKS: &str = "sum += System.nanoTime();";
const STARTS: &str = "new Thread(() -> {}).start();";

/// A test that does more in its third and fourth run, and in later ones if it has really been changed.
fn test(changed: bool, chance: &str) -> String {
    let unlucky = if changed { "turn / 2 >= 1" } else { "turn / 2 == 1" };
    format!(
        "package com.acme;
import java.io.*;
class TimedTest {{
    @org.junit.jupiter.api.Test void waits() throws IOException {{
        File turns = new File(\"turns\");
        long turn = turns.length();
        try (OutputStream more = new FileOutputStream(turns, true)) {{
            more.write(1);
        }}
        long sum = 1;
        {chance}
        int rounds = {unlucky} ? 1000 : 10;
        for (int i = 0; i < rounds; i++) {{
            sum += i;
        }}
        org.junit.jupiter.api.Assertions.assertNotEquals(0, sum);
    }}
}}
"
    )
}

fn held_against_its_baseline(changed: bool, chance: &str) -> (Option<i32>, String) {
    let jdk = jdks::find().into_iter().max_by_key(|jdk| jdk.feature).expect("a JDK");
    let project = Project::new(&jdk);
    project.write("src/test/java/com/acme/TimedTest.java", &test(changed, chance));
    project.compile();
    let selected = ["-c", "com.acme.TimedTest"];
    let made = project.test_selected(&["--update"], &selected);
    assert_eq!(made.status, Some(0), "{}", made.said);
    let held = project.test_selected(&[], &selected);
    (held.status, held.said)
}

#[test]
fn bad_luck_in_two_runs_is_no_growth() {
    for (chance, why) in [(ASKS, "it asks for the time"), (STARTS, "it starts threads")] {
        let (status, said) = held_against_its_baseline(false, chance);
        assert_eq!(status, Some(0), "{said}");
        assert!(said.contains(&format!("{why}; running again")), "{said}");
        assert!(said.contains(&format!("in the other; {why}")), "{said}");
    }
}

#[test]
fn growth_in_all_runs_is_growth() {
    let (status, said) = held_against_its_baseline(true, ASKS);
    assert_eq!(status, Some(1), "{said}");
    assert_eq!(said.matches("it asks for the time; running again").count(), 3, "{said}");
}
