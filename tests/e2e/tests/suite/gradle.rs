//! `quipu test -- gradle test`. Gradle is the one on the path; old ones run the JUnit Platform as a suite of JUnit 4.

use quipu_e2e::{Command, jdks, library, scratch, tools};

use crate::project::Project;

const BUILD: &str = include_str!("build.gradle");
const SUITE: &str = include_str!("PlatformSuite.java");

const LIBRARIES: [&str; 5] = [
    "org.junit.platform:junit-platform-console-standalone:1.13.4",
    "org.junit.platform:junit-platform-runner:1.13.4",
    "org.junit.platform:junit-platform-suite-commons:1.13.4",
    "junit:junit:4.13.2",
    "org.hamcrest:hamcrest-core:1.3",
];

#[test]
fn workers_are_counted_whether_a_daemon_runs_or_not() {
    // The workers of Gradle 4 set a security manager, which JDK 24 does not have any more.
    let jdk = jdks::find().into_iter().filter(|jdk| jdk.feature < 24).max_by_key(|jdk| jdk.feature);
    let jdk = jdk.expect("a JDK that Gradle runs on");
    let project = Project::new(&jdk);
    assert_eq!(project.test_without_maven(&["--update", "--once"]).status, Some(0));
    let expected = project.read("quipu-tests.txt");

    project.write("build.gradle", BUILD);
    project.write("settings.gradle", "");
    project.write("src/test/java/com/acme/PlatformSuite.java", SUITE);
    let jars = LIBRARIES.map(|name| library(name).to_str().expect("a path in UTF-8").to_owned());
    let home = scratch("gradle");
    let run = |mut command: Command, tasks: &[&str]| {
        command.args(["--offline", "-q"]).arg(format!("-Pjunit={}", jars.join(":"))).args(tasks);
        let outcome = project.outcome({
            command.env("GRADLE_USER_HOME", &home).env_remove("GRADLE_OPTS");
            command
        });
        assert_eq!(outcome.status, Some(0), "{}", outcome.said);
        outcome
    };
    let gradle = |tasks: &[&str]| run(Command::new("gradle"), tasks);
    let quipu = |options: &[&str]| {
        let mut command = Command::new(&tools().quipu);
        command.args(["test", "--once"]).args(options).args(["--", "gradle"]);
        run(command, &["--rerun-tasks", "test"])
    };

    // A daemon with an environment of its own: its workers would not be counted.
    gradle(&["--daemon", "-Dorg.gradle.daemon.idletimeout=120000", "testClasses"]);
    let made = quipu(&["--update", "--baseline", "gradle.txt"]);
    let again = quipu(&["--max", "0%", "--baseline", "gradle.txt"]);
    gradle(&["--stop"]);
    assert_eq!(project.read("gradle.txt"), expected, "{}", made.said);
    assert!(again.out.contains("PASSED: bytecodes of 43 tests as in the baseline"), "{}", again.said);
}
