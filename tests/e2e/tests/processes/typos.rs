//! Names that are not there are told, with those that come nearest.

use quipu_e2e::{Command, Program, Working, jdks, scratch, tools};

#[test]
fn filters_that_match_nothing_are_told_at_the_end() {
    let jdk = jdks::find().pop().expect("a JDK");
    let run = Program::new("Foo").quipu(["--include", "Fooo"]).run(&jdk);
    assert!(run.status.success(), "{}", run.said());
    let said = "quipu: --include Fooo: no class of that name ran; there is Foo";
    assert!(run.stderr.contains(said), "{}", run.said());
    let right = Program::new("Foo").quipu(["--include", "Foo"]).run(&jdk);
    assert!(right.status.success() && !right.stderr.contains("--include"), "{}", right.said());
    let run = Program::new("Foo").quipu(["--include", "Fooo*"]).run(&jdk);
    let said = "quipu: --include Fooo*: no class of that name ran; there is Foo";
    assert!(run.status.success() && run.stderr.contains(said), "{}", run.said());
    let right = Program::new("Foo").quipu(["--include", "F*o"]).run(&jdk);
    assert!(right.status.success() && !right.stderr.contains("--include"), "{}", right.said());
}

/// Its classes were there before Quipu came.
#[test]
fn filters_of_an_attach_that_match_nothing_are_told_at_the_end() {
    let jdk = jdks::find().pop().expect("a JDK");
    let working = Working::start(&jdk);
    let attach = |pattern: &str| {
        let file = scratch("typos").join("out.quipu");
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(["attach", &working.id(), "--exact", "--include", pattern, "-d", "0.5", "-o"]).arg(&file);
        let output = quipu.output().expect("quipu runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        said
    };
    let said = attach("Wroking");
    assert!(said.contains("quipu: --include Wroking: no class of that name ran; there is Working"), "{said}");
    let said = attach("Working");
    assert!(!said.contains("no class of that name"), "{said}");
    working.finish();
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
