//! Names that are not there are told, with those that come nearest.

use quipu_e2e::{Command, Program, jdks, scratch, tools};

#[test]
fn filters_that_match_nothing_are_told_at_the_end() {
    let jdk = jdks::find().pop().expect("a JDK");
    let run = Program::new("Foo").quipu(["--include", "Fooo"]).run(&jdk);
    assert!(run.status.success(), "{}", run.said());
    let said = "quipu: --include Fooo: no class of that name ran; there is Foo";
    assert!(run.stderr.contains(said), "{}", run.said());
    let right = Program::new("Foo").quipu(["--include", "Foo"]).run(&jdk);
    assert!(right.status.success() && !right.stderr.contains("--include"), "{}", right.said());
}

#[test]
fn a_report_by_labels_of_a_profile_without_any_says_so() {
    let jdk = jdks::find().pop().expect("a JDK");
    let file = scratch("labels").join("foo.quipu");
    Program::new("Foo").run(&jdk).profile().save(&file).expect("a profile");
    let mut report = Command::new(&tools().quipu);
    let output = report.arg("report").arg(&file).args(["--by", "label"]).output().expect("quipu runs");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("the profile has no labels"), "{said}");
}
