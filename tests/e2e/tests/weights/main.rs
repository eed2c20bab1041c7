//! Weights of opcodes, end to end.
#![allow(missing_docs, reason = "tests say what they test by their names")]

use std::fs;
use std::path::PathBuf;

use quipu_e2e::{Command, Counts, Program, on_every_jdk, scratch, tools};

fn file(text: &str) -> PathBuf {
    let file = scratch("weights").join("weights.txt");
    fs::write(&file, text).expect("a file");
    file
}

fn foo(weights: &str) -> Program {
    Program::new("Foo").quipu(["--weights", &file(weights).display().to_string()])
}

#[test]
fn a_block_counts_the_sum_of_its_weights() {
    // In `sum` iload_0 is executed 1001 + 1000 times and ireturn once; in `f`, which runs straight through, once each.
    foo("iload_0 5\nireturn 7 # of all methods\n").on_every_jdk(|run| {
        let main = run.assert_whole().thread("main");
        let sum = 10_007 + 2_001 * 4 + 6;
        assert_eq!(main.method("Foo", "sum"), Counts { calls: 1, bytecodes: sum });
        assert_eq!(main.method("Foo", "f"), Counts { calls: 1_000, bytecodes: 1_000 * (6 + 4 + 6) });
        assert!(run.profile().meta.options.iter().any(|(key, _)| key == "weights"), "the profile says so");
    });
}

#[test]
fn weights_may_be_nothing() {
    foo("default 0\ninvokestatic 1\n").on_every_jdk(|run| {
        let main = run.assert_whole().thread("main");
        assert_eq!(main.method("Foo", "sum"), Counts { calls: 1, bytecodes: 1_000 });
        assert_eq!(main.method("Foo", "f"), Counts { calls: 1_000, bytecodes: 0 });
    });
}

#[test]
fn weights_of_one_are_no_weights() {
    foo("default 1\n").on_every_jdk(|run| {
        assert_eq!(run.assert_whole().thread("main").method("Foo", "sum").bytecodes, 10_007);
    });
}

#[test]
fn a_wrong_file_is_refused_with_the_line() {
    on_every_jdk(|jdk| {
        let run = foo("iadd 1\nadd 2\n").run(jdk);
        assert_eq!(run.status.code(), Some(2), "{}", run.said());
        assert!(run.stderr.contains("line 2: there is no opcode 'add'"), "{}", run.said());
    });
}

#[test]
fn measured_weights_can_be_used() {
    on_every_jdk(|jdk| {
        let weights = scratch("weights").join("measured.txt");
        let mut calibrate = Command::new(&tools().quipu);
        calibrate.args(["calibrate", "--rounds", "3", "-o"]).arg(&weights);
        let output = calibrate.arg("--java").arg(jdk.home.join("bin/java")).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = fs::read_to_string(&weights).expect("weights");
        let weight = |name: &str| -> u64 {
            let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
            line.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{name} in {text}"))
        };
        // However loaded the machine is, a call is not as cheap as doing nothing.
        assert!(
            weight("invokestatic") > 2 * weight("nop") && weight("multianewarray") > weight("iadd"),
            "{text}"
        );
        let run = Program::new("Foo").quipu(["--weights", &weights.display().to_string()]).run(jdk);
        let sum = run.assert_whole().thread("main").method("Foo", "sum").bytecodes;
        assert!(sum >= 1_000 * weight("invokestatic"), "{sum}; {text}");
    });
}
