//! Virtual threads: all their frames, none of their carrier's, and their names.

use quipu_e2e::{Program, Run, Shares, percent};
use quipu_profile::ThreadKind;

use crate::cpu::assert_nearly_whole;

const DEPTH: u32 = 60;

fn assert_whole_stacks(run: &Run) {
    assert_nearly_whole(run);
    assert_divers(run, 1.0);
}

/// Except for so many percent, what the threads did was done at the bottom, and called from the top.
fn assert_divers(run: &Run, except: f64) {
    let profile = run.profile();
    let divers = profile.select_threads(|profile, thread| profile.str(thread.name).starts_with("diver-"));
    assert_eq!(divers.threads().len(), 4, "{}", run.said());
    assert!(divers.threads().iter().all(|thread| thread.kind == ThreadKind::Virtual));
    let cpu = Shares::of(&divers, "cpu");
    // What was at work was called by all of the recursion, and that by what began the thread.
    let burnt = cpu.total("DeepVirtual", "burn");
    assert!(percent(burnt, cpu.sum()) > 80.0, "{burnt} of {}", cpu.sum());
    assert!(percent(cpu.total("jdk.internal.vm.Continuation", "enter"), cpu.sum()) > 99.0 - except);
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
    assert!(percent(shallow, burnt) < except, "{shallow} of {burnt} not from the bottom");
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

#[test]
fn a_virtual_thread_has_its_whole_stack_where_collections_are_concurrent() {
    let program = Program::new("DeepVirtual").arguments([&DEPTH.to_string(), "10"]).since(21);
    program.quipu(["--cpu", "1000"]).jvm(["-XX:+UseZGC"]).on_every_jdk(assert_whole_stacks);
}

/// Chunks are moved while their threads run, and what is left at the old places is overwritten sooner or later: then a walk
/// fails, and says so. What is told is right.
#[test]
fn a_virtual_thread_whose_frames_are_being_moved_has_all_of_them_or_says_so() {
    let program = Program::new("DeepVirtual").arguments([&DEPTH.to_string(), "10", "and waste"]).since(21);
    let program = program.quipu(["--cpu", "1000"]).jvm(["-XX:+UseZGC", "-Xmx64m"]);
    program.on_every_jdk(|run| {
        assert!(run.status.success(), "{}", run.said());
        assert_divers(run, 20.0);
        let profile = run.profile();
        let divers = profile.select_threads(|profile, thread| profile.str(thread.name).starts_with("diver-"));
        let cpu = Shares::of(&divers, "cpu");
        let whole = cpu.total("jdk.internal.vm.Continuation", "enter");
        let failed: u64 = divers
            .methods()
            .iter()
            .map(|method| divers.str(method.name))
            .filter(|name| name.starts_with('[') && !name.contains(".so"))
            .map(|name| cpu.total("", name))
            .sum();
        assert_eq!(whole + failed, cpu.sum(), "{}", run.said());
    });
}
