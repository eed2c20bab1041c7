//! What is thrown in a handler that covers itself, as that of a `synchronized` block does, leads back to it. A probe there that
//! finds no stack left would be called for ever: so there is none, whatever is measured.
#![allow(missing_docs, reason = "tests say what they test by their names")]

use std::fs;
use std::sync::Arc;

use quipu_classfile::opcode::InstructionClass;
use quipu_classfile::{BlockAnalysis, ClassFile, Method};
use quipu_e2e::{classes, on_every_jdk};
use quipu_rewrite::{
    Acquisitions, Allocations, Bytecodes, Call, Contexts, Counting, Exact, Instrument, Known, OpaqueCallee,
    Plan, Site, Timed, Timing, rewrite,
};

/// All instructions are told apart, and all methods timed.
struct Everything;

impl Known for Everything {
    fn opaque(&self, _: &Call<'_>) -> Option<OpaqueCallee> {
        None
    }

    fn site(&self, site: &Site<'_>) -> Option<u32> {
        Some(site.bci + 1)
    }

    fn timing(&self, _: &Method<'_, '_>, _: u32) -> Option<Timing> {
        Some(Timing::Below)
    }
}

/// Every way to count, alone and with all other instruments in it.
fn plans() -> Vec<Plan> {
    let exact = |contexts| Exact { contexts, ..Exact::default() };
    let countings = [
        Counting::Off,
        Counting::Bytecodes(Bytecodes),
        Counting::Exact(exact(Contexts::All)),
        Counting::Exact(exact(Contexts::Application)),
        Counting::Exact(exact(Contexts::Charged)),
        Counting::Exact(exact(Contexts::None)),
        Counting::Exact(Exact { sites: true, blocks: true, ..Exact::default() }),
    ];
    let others: [Vec<Arc<dyn Instrument>>; 3] = [
        vec![],
        vec![Arc::new(Allocations), Arc::new(Acquisitions)],
        vec![Arc::new(Timed { sampled: false })],
    ];
    let mut plans = Vec::new();
    for counting in countings {
        for analysis in [BlockAnalysis::Default, BlockAnalysis::Precise] {
            for others in &others {
                for activation in [false, true] {
                    let (counting, others) = (counting.clone(), others.clone());
                    plans.push(Plan { counting, analysis, others, activation, ..Plan::new("java/quipu") });
                }
            }
        }
    }
    plans
}

/// How many calls there are that would be made again if they threw.
fn retried_calls(method: &Method<'_, '_>) -> usize {
    let Some(code) = method.code().expect("well formed") else { return 0 };
    let again = |bci: u32| {
        code.exceptions().any(|e| {
            (u32::from(e.handler)..u32::from(e.end)).contains(&bci) && (e.start..e.end).contains(&e.handler)
        })
    };
    let calls =
        code.instructions().map_while(Result::ok).filter(|i| i.info().class == InstructionClass::Invoke);
    calls.filter(|call| again(call.bci)).count()
}

#[test]
fn no_probe_is_where_an_exception_leads_back_to() {
    on_every_jdk(|jdk| {
        let mut handlers = 0;
        for entry in fs::read_dir(classes(jdk)).expect("classes") {
            let path = entry.expect("an entry").path();
            if path.extension().is_none_or(|extension| extension != "class") {
                continue;
            }
            let bytes = fs::read(&path).expect("a class");
            let class = ClassFile::parse(&bytes).expect("well formed");
            for plan in plans() {
                let rewritten = rewrite(&class, &plan, 1, &Everything).expect("rewritten");
                let Some(bytes) = rewritten.bytes else { continue };
                let after = ClassFile::parse(&bytes).expect("well formed");
                for (before, after) in class.methods().zip(after.methods()) {
                    let name = || String::from_utf8_lossy(before.name()).into_owned();
                    assert_eq!(
                        retried_calls(&after),
                        retried_calls(&before),
                        "{}, {}: {plan:?}",
                        path.display(),
                        name()
                    );
                    let code = before.code().expect("well formed");
                    handlers += code.map_or(0, |code| {
                        code.exceptions().filter(|e| (e.start..e.end).contains(&e.handler)).count()
                    });
                }
            }
        }
        assert!(handlers > 1000, "{handlers} handlers that cover themselves");
    });
}
