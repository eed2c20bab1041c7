//! Bytecode with the number of times it was executed.

use std::process::Output;

use quipu_e2e::{Command, Program, classes, jdks, scratch, tools};

fn annotate(file: &std::path::Path, arguments: &[&str], classes: &std::path::Path) -> Output {
    let mut command = Command::new(&tools().quipu);
    command.arg("annotate").arg(file).args(arguments).arg("--classes").arg(classes);
    command.output().expect("quipu starts")
}

/// All instructions of a method are there, and their executions add up to its bytecodes.
#[test]
fn executions_of_instructions_add_up() {
    for analysis in ["default", "precise"] {
        Program::new("Foo").quipu(["--blocks", "--bba", analysis]).on_every_jdk(|run| {
            let file = scratch("annotate").join("foo.quipu");
            run.profile().save(&file).expect("saved");
            let home = run.jdk.home.display().to_string();
            for (method, bytecodes) in [("Foo.sum", 10_007), ("Foo.f", 6_000)] {
                let output = annotate(&file, &[method, "--json", "--jdk", &home], &classes(&run.jdk));
                let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
                let rows = json["rows"].as_array().expect("rows");
                let executed: u64 = rows.iter().map(|row| row["executions"].as_u64().expect("a count")).sum();
                assert_eq!(executed, bytecodes, "{method} {analysis}: {json}");
                assert_eq!((&rows[0]["bci"], &rows[0]["block"]), (&0.into(), &true.into()));
                assert!(rows.iter().any(|row| row["instruction"] == "ireturn"), "{json}");
            }
            // A method of the JDK needs nothing but the JDK.
            let output = annotate(&file, &["java.util.HashMap.put", "--jdk", &home], &classes(&run.jdk));
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(text.contains("invokevirtual java.util.HashMap.putVal("), "{text}");
        });
    }
}

/// A class that is not the one profiled is refused, not shown with numbers that are not its own.
#[test]
fn another_version_of_a_class_is_refused() {
    let found = jdks::find();
    let jdk = found.first().expect("a JDK to test with");
    let run = Program::new("Foo").quipu(["--blocks", "--include", "Foo"]).run(jdk);
    let directory = scratch("annotate");
    let file = directory.join("foo.quipu");
    run.profile().save(&file).expect("saved");

    let source = directory.join("Foo.java");
    std::fs::write(&source, "class Foo { static int sum(int from, int to) { return to; } }")
        .expect("written");
    let javac = Command::new(jdk.home.join("bin/javac")).arg("-d").arg(&directory).arg(&source).status();
    assert!(javac.expect("javac starts").success());
    let other = annotate(&file, &["Foo.sum", "--jdk", "none"], &directory);
    let said = String::from_utf8_lossy(&other.stderr).into_owned();
    assert_eq!(other.status.code(), Some(2), "{said}");
    assert!(said.contains("it is not the one profiled"), "{said}");

    let missing = annotate(&file, &["Foo.sum", "--jdk", "none"], &scratch("empty"));
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert_eq!(missing.status.code(), Some(2));
    assert!(said.contains("--classes"), "{said}");
}
