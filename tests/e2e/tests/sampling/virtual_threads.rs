//! Virtual threads: all their frames, none of their carrier's, and their names.

use quipu_e2e::{Program, Run, Shares, percent};
use quipu_profile::ThreadKind;

use crate::cpu::assert_nearly_whole;

const DEPTH: u32 = 60;

fn assert_whole_stacks(run: &Run) {
    assert_nearly_whole(run);
    let profile = run.profile();
    let divers = profile.select_threads(|profile, thread| profile.str(thread.name).starts_with("diver-"));
    assert_eq!(divers.threads().len(), 4, "{}", run.said());
    assert!(divers.threads().iter().all(|thread| thread.kind == ThreadKind::Virtual));
    let cpu = Shares::of(&divers, "cpu");
    // What was at work was called by all of the recursion, and that by what began the thread.
    let burnt = cpu.total("DeepVirtual", "burn");
    assert!(percent(burnt, cpu.sum()) > 80.0, "{burnt} of {}", cpu.sum());
    assert!(percent(cpu.total("jdk.internal.vm.Continuation", "enter"), cpu.sum()) > 98.0);
    let tree = divers.tree();
    let depths = tree.depths();
    let values = divers.metric("cpu").expect("cpu").values();
    let shallow: u64 = (0..tree.len() as u32)
        .filter(|&node| {
            let method = tree.method(node).map(|method| divers.method_name(method));
            method.as_deref() == Some("DeepVirtual.burn") && depths[node as usize] <= DEPTH
        })
        .map(|node| values[node as usize])
        .sum();
    assert!(percent(shallow, burnt) < 1.0, "{shallow} of {burnt} not from the bottom");
    // The carrier has no part in it.
    assert_eq!(cpu.total("java.util.concurrent.ForkJoinWorkerThread", "run"), 0);
}

#[test]
fn a_virtual_thread_has_its_whole_stack_and_its_name() {
    let program = Program::new("DeepVirtual").arguments([&DEPTH.to_string(), "10"]).since(21);
    let program = program.quipu(["--cpu", "1000"]);
    program.on_every_jdk(assert_whole_stacks);
    // Frames in the heap lie differently: wide references, other collectors, code of C1.
    program.clone().jvm(["-XX:+UseSerialGC", "-XX:-UseCompressedOops"]).on_every_jdk(assert_whole_stacks);
    program.jvm(["-XX:TieredStopAtLevel=1", "-XX:+UseParallelGC"]).on_every_jdk(assert_whole_stacks);
}
