//! A VM that describes none of its structures, as a newer one may be: agents in Java need nothing of its inside.

use quipu_e2e::{Program, on_all_jdks, tools};

use crate::jars;

#[test]
fn an_agent_runs_in_a_vm_that_describes_nothing() {
    let forget = format!("-agentpath:{}=forget=*", tools().oracle.display());
    let program = Program::new("ManyThreads").arguments(["2", "10", "20000"]);
    let program = program.jvm([&*forget, "-Dtop.bytecodes=100000", "-Dtop.methods=2"]);
    on_all_jdks(|jdk| {
        let run = jars::under("quipu.examples.TopMethods", program.clone(), jdk);
        assert!(run.assert_whole().stderr.contains("top: worker-1\n"), "{}", run.said());
        assert!(!run.stderr.contains("not in it"), "{}", run.said());
    });
}
