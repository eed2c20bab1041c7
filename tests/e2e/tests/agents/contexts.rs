//! What agents see.

use quipu_e2e::{Counts, Program, on_every_jdk};

use crate::jars::under;

#[test]
fn contexts_keep_their_laws_and_show_exact_counts() {
    on_every_jdk(|jdk| {
        for options in [&["--bba", "default"], &["--bba", "precise"]] {
            let run = under("Laws", Program::new("Foo").quipu(*options), jdk);
            assert!(run.assert_whole().stderr.contains("laws hold: true, detached: false"), "{}", run.said());
            for line in ["Foo.sum(II)I 1 10007", "Foo.f(I)I 1000 6000", "Foo.main([Ljava/lang/String;)V 1 6"]
            {
                assert!(run.stderr.lines().any(|said| said == line), "{line}; {}", run.said());
            }
            let sum = run.thread("main").method("Foo", "sum");
            assert_eq!(sum, Counts { calls: 1, bytecodes: 10_007 });
        }
    });
}

/// What an agent calls is not the program's: its profile is the same with any agent.
#[test]
fn the_agent_is_not_in_the_profile() {
    on_every_jdk(|jdk| {
        let program = || Program::new("Json").quipu(["--deterministic"]);
        let idle = under("Counting", program().jvm(["-Dgranularity=2147483647"]), jdk);
        let busy = under("Busy", program().jvm(["-Dgranularity=500"]), jdk);
        assert!(busy.assert_whole().stderr.contains("busy: true"), "{}", busy.said());
        assert_eq!(idle.assert_whole().stdout, busy.stdout);
        for class in ["Json", "java.lang.StringBuilder", "java.util.ArrayList", "java.util.LinkedHashMap"] {
            for method in ["value", "object", "array", "string", "append", "add", "put", "<init>"] {
                let counts = [&idle, &busy].map(|run| run.thread("main").method(class, method));
                assert_eq!(counts[0], counts[1], "{class}.{method}");
            }
        }
        let parsed = busy.thread("main").method("Json", "value");
        assert!(parsed.calls > 100, "{parsed:?}");
    });
}
