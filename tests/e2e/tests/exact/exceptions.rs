//! Methods left by exceptions: whoever throws and whoever catches, counts are whole and contexts right afterwards.

use quipu_e2e::{Program, Run};

const CALLS: u64 = 20_000;
const THREADS: u64 = 200;

/// In each caller, every call was counted, and what was called after the exception was called by that caller.
fn callers_are_right(run: &Run, callers: &[&str]) {
    let main = run.assert_whole().thread("main");
    for caller in callers {
        let (half, after) = (format!("Exceptions.{caller}"), "Exceptions.after");
        assert_eq!(main.path(&["Exceptions.main", &half, after]).calls, CALLS, "after, in {caller}");
    }
    let thrower = run.thread("thrower");
    assert_eq!(thrower.method("Exceptions", "half").calls, THREADS);
    assert_eq!(thrower.method("Exceptions", "after").calls, THREADS / 2);
}

const CALLERS: [&str; 6] =
    ["directly", "byReflection", "byHandle", "byCatchingHandle", "byLambda", "byConstructor"];

fn check(run: &Run) {
    callers_are_right(run, &CALLERS);
    let main = run.thread("main");
    let all: u64 = CALLERS.len() as u64 * CALLS;
    assert_eq!(main.method("Exceptions", "half").calls, all);
    // One of six ways to throw, in every second call.
    let deeper = (0..CALLS).filter(|i| i % 2 == 1 && i / 2 % 6 == 5).count() as u64;
    assert_eq!(main.method("Exceptions", "deeper").calls, deeper * CALLERS.len() as u64);
    for caller in ["directly", "byHandle"] {
        let path = ["Exceptions.main", &format!("Exceptions.{caller}"), "Exceptions.half"];
        assert_eq!(main.path(&path).calls, CALLS, "{caller}");
    }
}

fn program() -> Program {
    Program::new("Exceptions").arguments([CALLS.to_string(), THREADS.to_string()])
}

#[test]
fn exceptions_lose_no_call_and_no_context() {
    for analysis in ["default", "precise"] {
        program().quipu(["--bba", analysis]).on_every_jdk(check);
    }
}

/// Reflection through native code, on every JDK.
#[test]
fn exceptions_through_native_callers_lose_nothing() {
    let native = ["-Dsun.reflect.inflationThreshold=2147483647", "-Djdk.reflect.useNativeAccessorOnly=true"];
    program().quipu(["--bba", "precise"]).jvm(native).on_every_jdk(check);
}

/// Precise counts are the same whatever runs the code.
#[test]
fn precise_counts_of_exceptions_do_not_depend_on_the_compiler() {
    use quipu_e2e::on_every_jdk;
    on_every_jdk(|jdk| {
        let count = |flag: &str| {
            let program = program().quipu(["--bba", "precise"]).jvm([flag, "-XX:-OmitStackTraceInFastThrow"]);
            let run = program.run(jdk);
            check(&run);
            ["half", "deeper", "after", "directly", "byReflection", "byHandle", "byLambda", "swallow"]
                .map(|method| run.thread("main").method("Exceptions", method))
        };
        let interpreted = count("-Xint");
        for flag in ["-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation", "-Xbatch"] {
            assert_eq!(count(flag), interpreted, "JDK {} {flag}", jdk.feature);
        }
    });
}
