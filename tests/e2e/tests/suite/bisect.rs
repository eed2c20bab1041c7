//! `quipu bisect` finds the commit that added the work.

use quipu_e2e::{Command, jdks, tools};

use crate::project::{Project, console};
use crate::{INSERT, LONGER};

const SORTING: &str = "src/main/java/com/acme/Sorting.java";

#[test]
fn the_commit_that_added_the_work_is_found_with_its_place() {
    let jdk = jdks::find().into_iter().max_by_key(|jdk| jdk.feature).expect("a JDK");
    let project = Project::new(&jdk);
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]).args(arguments);
        let outcome = project.outcome(git);
        assert_eq!(outcome.status, Some(0), "{}", outcome.said);
        outcome.out.trim().to_owned()
    };
    let commit = |subject: &str| {
        git(&["add", "-A"]);
        git(&["commit", "-q", "--allow-empty", "-m", subject]);
        git(&["rev-parse", "HEAD"])
    };
    git(&["init", "-q"]);
    let good = commit("Sorting");
    commit("Nothing to do with it");
    // Does not compile: left out.
    project.edit(SORTING, &[(INSERT, "int number = sorted[end]")]);
    commit("A mistake");
    project.edit(SORTING, &[("int number = sorted[end]", INSERT)]);
    let before = commit("The mistake undone");
    let line = project.edit(SORTING, &[(INSERT, LONGER)]);
    let culprit = commit("Turns numbers round");
    commit("Something else");
    project.write("README", "edited, and not committed");

    let build = "$0/bin/javac -g -parameters -cp $1 -d classes $(find src -name '*.java') && \
        $0/bin/java -jar $1 execute -cp classes -c com.acme.SortingTest --details=none --disable-banner";
    let home = jdk.home.to_str().expect("a path in UTF-8");
    let bisect = |options: &[&str]| {
        let mut quipu = Command::new(&tools().quipu);
        quipu.arg("bisect").args(options);
        project.outcome({
            quipu.args(["--", "sh", "-c", build, home, &console()]);
            quipu
        })
    };
    let found = bisect(&["--good", &good]);
    assert_eq!(found.status, Some(0), "{}", found.said);
    assert!(
        found.out.starts_with(&format!("{} Turns numbers round (Ann, ", &culprit[..12])),
        "{}",
        found.said
    );
    assert!(found.out.contains("is the first of 5 commits with more work"), "{}", found.said);
    assert!(found.out.contains(&format!("com.acme.Sorting.insert (Sorting.java:{line})")), "{}", found.said);
    assert_eq!(project.read("README"), "edited, and not committed");
    assert_eq!(git(&["worktree", "list"]).lines().count(), 1, "work trees are removed");

    let nothing = bisect(&["--good", &good, "--test", "SortingTest.sortsOne()"]);
    assert_eq!(nothing.status, Some(2), "{}", nothing.said);
    assert!(
        nothing.said.contains("no test called SortingTest.sortsOne() does more work"),
        "{}",
        nothing.said
    );

    // A branch that does more itself: what the other one added since they parted is not hidden by it.
    git(&["checkout", "-q", "-f", "-b", "side", &before]);
    project
        .edit(SORTING, &[(INSERT, &format!("{LONGER} for (int i = 0; i < 40; i++) number = -(-number);"))]);
    let side = commit("Does even more");
    let found = bisect(&["--good", &side, "--bad", &culprit]);
    assert_eq!(found.status, Some(0), "{}", found.said);
    assert!(found.said.contains("which is taken for the good one"), "{}", found.said);
    assert!(
        found.out.starts_with(&format!("{} Turns numbers round (Ann, ", &culprit[..12])),
        "{}",
        found.said
    );
}
