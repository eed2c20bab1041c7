//! `--verify`: the program runs again, exactly, and the overlap is told.

use quipu_e2e::Program;

fn overlap(stderr: &str) -> f64 {
    let line = stderr.lines().find_map(|line| line.strip_prefix("quipu: overlap with the exact profile: "));
    let number = line.and_then(|line| line.split(' ').next()).and_then(|text| text.parse().ok());
    number.unwrap_or_else(|| panic!("no overlap in {stderr}"))
}

#[test]
fn samples_tell_how_accurate_they_are() {
    let program = Program::new("Hot").arguments(["20"]);
    program.quipu(["--bytecodes", "500", "--verify", "--deterministic"]).on_every_jdk(|run| {
        let output: Vec<&str> = run.assert_whole().stdout.lines().collect();
        assert_eq!((output.len(), output.first()), (2, output.get(1)), "{}", run.said());
        assert!(overlap(&run.stderr) > 97.0, "{}", run.said());
        assert!(run.profile().metric("samples.bytecodes").is_some());
    });
}

/// Where small methods only call each other, nobody else comes by to take a sample that was written down.
#[test]
fn samples_of_recursion_are_accurate() {
    let program = Program::new("Circles").arguments(["26"]);
    program.quipu(["--bytecodes", "2000", "--verify", "--deterministic"]).on_every_jdk(|run| {
        assert!(overlap(&run.stderr) > 90.0, "{}", run.said());
    });
}
