//! Agents that fail do not disturb the program.

use quipu_e2e::{Program, on_every_jdk};

use crate::jars::{jar, under};

#[test]
fn an_agent_that_throws_is_reported_and_switched_off() {
    on_every_jdk(|jdk| {
        let run = under("Throwing", Program::new("Collections"), jdk);
        let plain = Program::new("Collections").run(jdk);
        assert_eq!(run.assert_whole().stdout, plain.assert_whole().stdout);
        let report =
            "quipu: the agent Throwing failed and is switched off: java.lang.IllegalStateException: enough";
        assert_eq!(run.stderr.matches(report).count(), 1, "{}", run.said());
        assert_eq!(run.stderr.matches("failed").count(), 1, "{}", run.said());
        assert!(run.stderr.contains("at Throwing.processMCT(Throwing.java:"), "{}", run.said());
    });
}

#[test]
fn an_agent_that_always_runs_out_of_stack_is_switched_off_too() {
    on_every_jdk(|jdk| {
        let run = under(
            "Throwing",
            Program::new("ManyThreads").arguments(["4", "20", "60000"]).jvm(["-Drecursion=true"]),
            jdk,
        );
        assert_eq!(run.assert_whole().thread("worker-#").method("ManyThreads", "work").calls, 240_000);
        assert_eq!(
            run.stderr.matches("switched off: java.lang.StackOverflowError").count(),
            1,
            "{}",
            run.said()
        );
    });
}

#[test]
fn an_agent_that_cannot_be_made_is_named_and_the_program_profiled() {
    on_every_jdk(|jdk| {
        for (class, why) in [
            ("Throwin", "the jar has Throwing"),
            ("Absent", "ClassNotFoundException: Absent"),
            ("java.lang.Object", "does not implement"),
        ] {
            let run = under(class, Program::new("Foo"), jdk);
            assert_eq!(run.status.code(), Some(3), "{}", run.said());
            assert_eq!(run.stdout.trim(), "1002000");
            assert_eq!(run.thread("main").method("Foo", "sum").calls, 1);
            assert!(run.stderr.contains(&format!("the agent {class} could not be made")), "{}", run.said());
            assert!(
                run.stderr.contains(&format!("quipu: profiling without the agent {class}: ")),
                "{}",
                run.said()
            );
            assert!(run.stderr.contains(why), "{}", run.said());
        }
    });
}

#[test]
fn a_wrong_option_is_refused() {
    on_every_jdk(|jdk| {
        let jar = jar(jdk);
        for option in ["/no/such.jar=Some".to_owned(), jar.display().to_string()] {
            let run = Program::new("Foo").quipu(["--agent", &option]).run(jdk);
            assert_eq!(run.status.code(), Some(2), "{}", run.said());
        }
    });
}
