//! Trees of millions of contexts.

use quipu_e2e::{Counts, Program};

/// A tree of 2^23 - 1 contexts in the full run (`QUIPU_FULL=1`), where more than five million must work; of 2^17 - 1 else.
#[test]
fn a_process_holds_millions_of_contexts() {
    let levels: u32 = if std::env::var_os("QUIPU_FULL").is_some() { 22 } else { 16 };
    let contexts = (1u64 << (levels + 1)) - 1;
    let program = Program::new("ManyContexts").arguments([levels.to_string()]).quipu(["--arena-limit", "4G"]);
    program.on_every_jdk(|run| {
        assert_eq!(run.stdout.trim(), (1u64 << levels).to_string());
        let main = run.assert_whole().thread("main");
        let opened =
            main.contexts("ManyContexts", "left").len() + main.contexts("ManyContexts", "right").len();
        assert_eq!(opened as u64, contexts);
        let sum = |counts: [Counts; 2]| counts.iter().map(|counts| counts.calls).sum::<u64>();
        let calls = sum([main.method("ManyContexts", "left"), main.method("ManyContexts", "right")]);
        assert_eq!(calls, contexts, "each was called once");
        let cost = run.profile().run.cost.iter().find_map(|line| line.strip_prefix("the arena took "));
        let kilobytes =
            cost.and_then(|text| text.split(' ').next()).and_then(|text| text.parse::<u64>().ok());
        // What the JDK did to get here, and the chunks that are not full, are small beside so many.
        let bytes = kilobytes.expect("the cost of the arena") * 1024 / contexts;
        println!("{contexts} contexts, {bytes} bytes each");
        assert!(bytes <= 192 || levels < 20, "{bytes} bytes a context");
    });
}
