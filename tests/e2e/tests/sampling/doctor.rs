//! What `quipu doctor` finds is what there is.

use quipu_e2e::{Command, on_every_jdk, tools};

#[test]
fn every_kind_is_found_to_work_where_it_does() {
    on_every_jdk(|jdk| {
        let mut doctor = Command::new(&tools().quipu);
        let output = doctor.arg("doctor").arg(jdk.home.join("bin/java")).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}");
        let kinds = ["--exact", "--bytecodes", "--cpu", "--wall", "--event", "--alloc", "--timeline"]
            .map(|kind| format!("ok  {kind} "));
        let others = ["ok  arena", "ok  jvm", "ok  stacks       Quipu's own"].map(str::to_owned);
        // JDK 8 does not tell of objects that are made.
        let kinds = kinds.iter().filter(|kind| jdk.feature >= 11 || !kind.contains("--alloc"));
        for what in kinds.chain(&others) {
            assert!(said.contains(what.as_str()), "no '{what}' in:\n{said}");
        }
        assert!(said.contains("kernel code"), "{said}");
        assert!(said.contains("ok  events       of the kernel: cpu-clock, "), "{said}");
    });
}

#[test]
fn something_that_is_no_jvm_is_told_from_one() {
    let mut doctor = Command::new(&tools().quipu);
    let output = doctor.args(["doctor", "/bin/false"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("no  jvm"), "{said}");
}
